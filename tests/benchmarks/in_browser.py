"""What a person waits for, in a real Chromium: the first figure, another head, another text, an intervention.

The start is counted from `make run` on installed packages, with a Chromium that is open already; clicks and Enter from
the event in the page to the frame in which the result is drawn. Heads and texts are those of each shipped model, and
of one as large as GPT-2.
"""

import time
from collections.abc import Iterable
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page, sync_playwright

from pages.shared.model_bar import TEXT_BOXES
from pages.shared.models import SHIPPED, available
from pages.shared.view.state import MODEL
from tests.benchmarks.interleaved import Row, row_of
from tests.benchmarks.wide_model import checkpoints, text_of, wide_model
from tests.e2e.browser import launch, serve

TITLE = (
    "In the browser (goals: stage 5,000 ms, first figure 6,000 ms, another head 200 ms, another text 500 ms, "
    "and 1,000 ms at GPT-2-small size; a page opened 1,500 ms, an intervention 300 ms)"
)

STARTS, CLICKS, TEXTS = 5, 12, 5
LENGTHS = (128, 512)  # tokens of a text, for the large model
PATIENCE = 900_000  # ms
HEATMAP = ".plot .gtitle"
OPENED = ("glossary", "film", "models", "tour")  # pages that are read first
IS_DRAWN = """() => {
  const page = document.querySelector('[data-testid="stApp"][data-test-script-state="notRunning"]');
  return page?.querySelector(".hl-title") && !page.querySelector('[data-testid="stSkeleton"], .markup:empty');
}"""

# Waits, frame by frame, until `isThere()` holds; returns the ms since `start`.
UNTIL = """(start, isThere) => new Promise((resolve) => {
  const look = () => requestAnimationFrame(() => (isThere() ? resolve(performance.now() - start) : look()));
  look();
})"""
CLICK_HEAD = f"""(name) => {{
  const root = [...document.querySelectorAll("*")].map((e) => e.shadowRoot).find((r) => r?.querySelector(".overview"));
  const title = `Attention pattern: ${{name.charAt(0).toLowerCase()}}${{name.slice(1)}}`;
  const start = performance.now();
  root.querySelector(`button.head[aria-label^="${{name}}."]`).click();
  return ({UNTIL})(start, () => document.querySelector(".plot .gtitle")?.textContent === title);
}}"""
AFTER_ENTER = f"""() => {{
  const root = [...document.querySelectorAll("*")].map((e) => e.shadowRoot).find((r) => r?.querySelector(".overview"));
  const drawn = () => root.querySelector(".overview").view.header.version;
  const before = drawn();
  window.drawn = new Promise((resolve) => document.addEventListener("keydown", (event) => {{
    if (event.key === "Enter") ({UNTIL})(performance.now(), () => drawn() !== before).then(resolve);
  }}, {{ capture: true }}));
}}"""

CLICK_SWITCH = f"""() => {{
  const texts = () => document.querySelector(".hl-interventions-outputs").innerText;
  const box = [...document.querySelectorAll("*")].map((e) => e.shadowRoot?.querySelector("input.switch")).find(Boolean);
  const before = texts();
  const start = performance.now();
  box.click();
  return ({UNTIL})(start, () => texts() !== before);
}}"""


def run() -> list[Row]:
    """Measure the starts, then the shipped models with one server, and the large one with another."""
    with sync_playwright() as playwright:
        browser = launch(playwright)
        starts = [
            start(browser, "", ".stage .picture") + start(browser, "heads", "button.head", HEATMAP)
            for _ in range(STARTS)
        ]
        names = ("the stage of Start", "all heads", "the heatmap")
        drawn = zip(names, zip(*starts, strict=True), strict=True)
        rows = [row(f"make run to {name} drawn", list(of_name)) for name, of_name in drawn]
        with serve() as server:
            for path in OPENED:
                times = [opened(browser, f"{server.url}/{path}") for _ in range(STARTS + 1)][1:]  # the server is warm
                rows.append(row(f"the page {path} opened in a new browser", times))
            rows.append(row("click on an intervention's switch to the new output", switches(browser, server.url)))
            for model in SHIPPED:
                card = available()[model]
                page = heads(browser, f"{server.url}/heads?{urlencode({MODEL.key: model})}")
                rows += measured(page, model, card.examples[1:], label=TEXT_BOXES[card.config.architecture][0])
        with wide_model() as (folder, tokenizer), checkpoints(folder), serve() as server:
            for n_tokens in LENGTHS:
                page = heads(browser, f"{server.url}/heads")
                texts = [text_of(tokenizer, n_tokens, seed=n_tokens + i) for i in range(TEXTS)]
                name = f"GPT-2-small size, {n_tokens} tokens"
                rows += measured(page, name, texts, label=TEXT_BOXES["decoder_only"][0])
        browser.close()
    return rows


def opened(browser: Browser, address: str) -> float:
    """The ms from the address to the drawn page, in a browser that has nothing stored."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.goto(address, wait_until="commit")
    page.wait_for_function(IS_DRAWN, timeout=PATIENCE)
    took: float = page.evaluate(
        "() => new Promise((drawn) => requestAnimationFrame(() => setTimeout(() => drawn(performance.now()))))"
    )
    context.close()
    return took


def switches(browser: Browser, url: str) -> list[float]:
    """The ms from clicks on the switch of an intervention that changes the output to the output."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(f"{url}/interventions?model=en-fr&attention=encoder&layer=1&head=0")
    page.get_by_role("button", name="Add to the stack").click()
    page.locator(".stack_list .entry").wait_for()
    times: list[float] = []
    for _ in range(CLICKS):
        page.wait_for_timeout(1500)
        times.append(page.evaluate(CLICK_SWITCH))
    page.close()
    return times[2:]  # both outputs are drawn once before


def heads(browser: Browser, address: str) -> Page:
    """Open the Heads page, and return when it is drawn."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.set_default_timeout(PATIENCE)
    page.goto(address)
    page.locator(HEATMAP).wait_for()
    page.wait_for_timeout(3000)
    return page


def measured(page: Page, name: str, texts: Iterable[str], *, label: str) -> list[Row]:
    """Measure new texts, then clicks on the heads of the last one."""
    entered = [enter(page, text, label=label) for text in texts]
    clicks = [click(page, head) for head in head_names(page)[:CLICKS]]
    page.close()
    return [row(f"{name}: Enter to all heads", entered), row(f"{name}: click on another head to its heatmap", clicks)]


def row(name: str, times: list[float]) -> Row:
    """A line of the table."""
    return row_of(name, times, f"{len(times)} times")


def start(browser: Browser, address: str, *seen: str) -> list[float]:
    """The ms from `make run` to each of these things drawn on a page, in turn."""
    began = time.perf_counter()
    with serve(["make", "run"]) as server:
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        page = context.new_page()
        page.goto(f"{server.url}/{address}", wait_until="commit")
        times = []
        for selector in seen:
            page.locator(selector).first.wait_for()
            times.append((time.perf_counter() - began) * 1e3)
        context.close()
    return times


def head_names(page: Page) -> list[str]:
    """The names of all heads, so that each differs from the one before in layer, head and attention."""
    labels = [head.get_attribute("aria-label") or "" for head in page.locator("button.head").all()]
    names = [label.split(". ")[0] for label in labels]
    return [name for i in range(7) for name in names[i::7]]


def click(page: Page, name: str) -> float:
    """The ms from a click on a head to its heatmap."""
    took: float = page.evaluate(CLICK_HEAD, name)
    page.wait_for_timeout(300)
    return took


def enter(page: Page, text: str, *, label: str) -> float:
    """The ms from Enter after a new text to all heads drawn; return when the page is quiet again."""
    box = page.get_by_label(label, exact=True)
    box.click()
    box.fill(text)
    page.evaluate(AFTER_ENTER)
    box.press("Enter")
    took: float = page.evaluate("window.drawn")
    page.wait_for_function("() => !document.body.innerText.includes('Generating')")
    page.wait_for_timeout(1000)
    return took
