"""What a person waits for, in a real Chromium: the first figure, another head, another text.

The start is counted from `make run` on installed packages, with a Chromium that is open already; clicks and Enter from
the event in the page to the frame in which the result is drawn.
"""

import time

from playwright.sync_api import Browser, Page, sync_playwright

from tests.benchmarks.interleaved import Row, row_of
from tests.e2e.browser import launch, serve

TITLE = "In the browser (goals: stage 5,000 ms, first figure 6,000 ms, another head 300 ms, another text 600 ms)"

STARTS, CLICKS, TEXTS = 5, 24, 12
HEATMAP = ".plot .gtitle"
WORDS = ("cat", "dog", "bird", "animal", "woman", "boy")

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


def run() -> list[Row]:
    """Measure, with one server for all clicks and texts."""
    with sync_playwright() as playwright:
        browser = launch(playwright)
        starts = [
            start(browser, "", ".stage .picture") + start(browser, "heads", "button.head", HEATMAP)
            for _ in range(STARTS)
        ]
        stage, overview, heatmap = zip(*starts, strict=True)
        with serve() as server:
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.goto(f"{server.url}/heads")
            wait_for_heatmap(page)
            page.wait_for_timeout(2000)
            clicks = [click(page, name) for name in head_names(page)[:CLICKS]]
            texts = [enter(page, f"The {WORDS[i % 6]} sees the {WORDS[(i * 5 + 1) % 6]}.") for i in range(TEXTS)]
        browser.close()
    return [
        row("make run to the stage of Start drawn", list(stage)),
        row("make run to all heads drawn", list(overview)),
        row("make run to the heatmap drawn", list(heatmap)),
        row("click on another head to its heatmap", clicks),
        row("Enter to all heads drawn", texts),
    ]


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


def wait_for_heatmap(page: Page) -> None:
    """Return when the heatmap is drawn."""
    page.locator(HEATMAP).wait_for()


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


def enter(page: Page, text: str) -> float:
    """The ms from Enter behind a new text to all heads drawn; return when the page is quiet again."""
    took = ask(page, text)
    page.wait_for_timeout(500)
    return took


def ask(page: Page, text: str, *, label: str = "Text") -> float:
    """The ms from Enter behind a new text to all heads drawn; `label` is that of its box."""
    box = page.get_by_label(label, exact=True)
    box.click()
    box.fill(text)
    page.evaluate(AFTER_ENTER)
    box.press("Enter")
    took: float = page.evaluate("window.drawn")
    return took
