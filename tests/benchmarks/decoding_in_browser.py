"""Decoding in a real Chromium: a step on the page, a slider, and 200 tokens that stream.

A step is over when everything of the page shows the new moment: the outlined token, the candidates and the figure. The
slider's time runs from the input's event to the frame in which the bars stand anew.
"""

from playwright.sync_api import Page, sync_playwright

from tests.benchmarks.in_browser import UNTIL, row
from tests.benchmarks.interleaved import Row
from tests.e2e.browser import launch, serve

TITLE = "Decoding in the browser (goals: a step 200 ms, a slider 100 ms, the first of 200 tokens 300 ms)"
STEPS, SLIDES = 12, 12
N_TOKENS = 200
ROOTS = """const inside = (selector) => [...document.querySelectorAll("*")].map((e) => e.shadowRoot)
  .find((root) => root?.querySelector(selector))?.querySelector(selector);"""
STEP = f"""(name) => {{
  {ROOTS}
  const behind = () => inside(".candidates").getAttribute("aria-label");
  const title = () => document.querySelector(".plot .gtitle")?.textContent;
  const [before, drawn] = [behind(), title()];
  const start = performance.now();
  inside(".writing").querySelector(`button[aria-label="${{name}}"]`).click();
  return ({UNTIL})(start, () => behind() !== before && title() !== drawn);
}}"""
SLIDE = f"""(value) => {{
  {ROOTS}
  const range = inside(".candidates").querySelector('input[type=range][aria-label="Temperature"]');
  const now = () => [...inside(".candidates").querySelectorAll(".row .now")].map((e) => e.textContent).join();
  const before = now();
  const start = performance.now();
  range.value = value;
  range.dispatchEvent(new Event("input", {{ bubbles: true }}));
  return ({UNTIL})(start, () => now() !== before);
}}"""
PLAY = f"""(goal) => {{
  {ROOTS}
  const box = inside(".writing");
  const n = () => box.querySelectorAll(".output .chip").length;
  const before = n();
  const start = performance.now();
  box.querySelector('button[aria-label="Play"]').click();
  const first = ({UNTIL})(start, () => n() > before);
  const all = ({UNTIL})(start, () => n() >= before + goal);
  return Promise.all([first, all]);
}}"""


def run() -> list[Row]:
    """Measure with one server."""
    with sync_playwright() as playwright:
        browser = launch(playwright)
        with serve() as server:
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.set_default_timeout(120_000)
            rows = []
            for model in ("en-fr", "stories"):
                open_page(page, f"{server.url}/decoding?model={model}&step=2")
                steps = [step(page, name) for name in ("One step forward", "One step back") * (STEPS // 2)]
                slides = [page.evaluate(SLIDE, str(0.3 + 0.1 * i)) for i in range(SLIDES)]
                rows += [row(f"{model}: a step", steps), row(f"{model}: a slider moved", slides)]
            open_page(page, f"{server.url}/decoding?model=stories&step=24&temperature=0.9&seed=5&limit=400")
            page.get_by_label("Speed").select_option(index=3)
            first, whole = page.evaluate(PLAY, N_TOKENS)
            rows += [row("stories: play to the first token", [first])]
            rows += [row(f"stories: play to {N_TOKENS} tokens", [whole])]
        browser.close()
    return rows


def open_page(page: Page, address: str) -> None:
    """Go there, and return when everything is drawn."""
    page.goto(address)
    page.locator(".plot .gtitle").first.wait_for()
    page.locator(".candidates .row").first.wait_for()
    page.wait_for_timeout(2000)


def step(page: Page, name: str) -> float:
    """The ms of a step."""
    took: float = page.evaluate(STEP, name)
    page.wait_for_timeout(400)
    return took
