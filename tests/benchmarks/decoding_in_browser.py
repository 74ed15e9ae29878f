"""Decoding in a real Chromium: a step on the page, a slider, and a tale that streams from its first token to its end.

A step is over when the page shows the new moment: the outlined token, where the model looks, and the candidates; the
figures follow, and are told apart. The slider's time runs from the input's event to the frame in which the bars stand
anew.
"""

from dataclasses import replace

from playwright.sync_api import Page, sync_playwright

from tests.benchmarks.in_browser import UNTIL, row
from tests.benchmarks.interleaved import Row
from tests.e2e.browser import launch, serve

TITLE = "Decoding in the browser (goals: a step 200 ms, a slider 100 ms, the first of a tale's tokens 300 ms)"
STEPS, SLIDES, TALES = 6, 12, 5
ROOTS = """const inside = (selector) => [...document.querySelectorAll("*")].map((e) => e.shadowRoot)
  .find((root) => root?.querySelector(selector))?.querySelector(selector);"""
STEP = f"""(name) => {{
  {ROOTS}
  const behind = () => inside(".candidates").getAttribute("aria-label");
  const looked = () => [...inside(".writing").querySelectorAll(".chip")].map((e) => e.style.cssText).join();
  const title = () => document.querySelector(".plot .gtitle")?.textContent;
  const before = [behind(), looked(), title()];
  const start = performance.now();
  inside(".writing").querySelector(`button[aria-label="${{name}}"]`).click();
  return Promise.all([
    ({UNTIL})(start, () => behind() !== before[0] && looked() !== before[1]),
    ({UNTIL})(start, () => title() !== before[2]),
  ]);
}}"""
SLIDE = f"""(value) => {{
  {ROOTS}
  const range = inside(".candidates").querySelector('input[type=range][aria-label="Temperature"]');
  const bars = () => [...inside(".candidates").querySelectorAll(".row")].map((row) => row.style.cssText).join();
  const before = bars();
  const start = performance.now();
  range.value = value;
  range.dispatchEvent(new Event("input", {{ bubbles: true }}));
  return ({UNTIL})(start, () => bars() !== before);
}}"""
PLAY = f"""() => {{
  {ROOTS}
  const box = inside(".writing");
  const chips = () => [...box.querySelectorAll(".output .chip")];
  const n = () => chips().findIndex((chip) => chip.hasAttribute("aria-current"));
  const before = n();
  const start = performance.now();
  box.querySelector('button[aria-label="Play"]').click();
  const first = ({UNTIL})(start, () => n() > before);
  const all = ({UNTIL})(start, () => box.querySelector('button[aria-label="Play again"]'));
  return Promise.all([first, all]).then(([one, other]) => [one, other, n() - before]);
}}"""


def run() -> list[Row]:
    """Measure with one server."""
    with sync_playwright() as playwright:
        browser = launch(playwright)
        with serve() as server:
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.set_default_timeout(60_000)
            rows = []
            for model in ("en-fr", "stories"):
                open_page(page, f"{server.url}/decoding?model={model}&step=2")
                steps = [step(page, name) for name in ("One step forward",) * STEPS + ("One step back",) * STEPS]
                shown, drawn = zip(*steps, strict=True)
                slides = [page.evaluate(SLIDE, str(5 + i)) for i in range(SLIDES)]
                rows += [
                    row(f"{model}: a step to its token, where it looks, and its candidates", list(shown)),
                    row(f"{model}: a step to its figures", list(drawn)),
                    row(f"{model}: a slider moved to its bars", slides),
                ]
            plays = []
            for seed in range(TALES):
                open_page(page, f"{server.url}/decoding?model=stories&step=24&temperature=0.9&seed={seed}")
                page.get_by_label("Speed").select_option(index=3)
                plays.append(page.evaluate(PLAY))
            first, whole, n_tokens = zip(*plays, strict=True)
            rows.append(row("stories: play to the first token", list(first)))
            played = row("stories: play to the end of the tale", list(whole))
            rows.append(replace(played, note=f"{played.note}; {min(n_tokens)} to {max(n_tokens)} tokens each"))
        browser.close()
    return rows


def open_page(page: Page, address: str) -> None:
    """Go there, and return when everything is drawn."""
    page.goto(address)
    page.locator(".plot .gtitle").first.wait_for()
    page.locator(".candidates .row").first.wait_for()
    page.wait_for_timeout(2000)


def step(page: Page, name: str) -> tuple[float, float]:
    """The ms of a step: to the tokens and the candidates, and to the figures."""
    shown, drawn = page.evaluate(STEP, name)
    page.wait_for_timeout(600)
    return shown, drawn
