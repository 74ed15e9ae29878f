"""The pages of Learn in a real Chromium: from a click in the frame to the first figure, and from stage to stage.

The app is warm: each page was opened once before. A change is counted from the click in the page to the frame in which
what was asked for is drawn.
"""

from dataclasses import dataclass

from playwright.sync_api import Page, sync_playwright

from tests.benchmarks.in_browser import UNTIL, row, wait_for_heatmap
from tests.benchmarks.interleaved import Row
from tests.e2e.browser import launch, serve

TITLE = "Learning in the browser (goals: first figure of a page 1,000 ms; another stage 150 ms)"

ROUNDS = 6
PATIENCE = 60_000  # ms
ALL = """const all = (selector) => [document, ...[...document.querySelectorAll("*")].map((e) => e.shadowRoot)]
  .filter(Boolean).flatMap((root) => [...root.querySelectorAll(selector)]);
const one = (selector, words) => all(selector).find((e) => e.textContent.trim().startsWith(words));"""


@dataclass(frozen=True, kw_only=True)
class LearnPage:
    """A page, its first figure, and changes that one makes on it, which lead back to the beginning."""

    address: str
    figure: str  # JavaScript that holds once it is drawn
    what: str  # that changes
    changes: tuple[tuple[str, str], ...]  # what to click, and what is to be seen then; both in JavaScript


def part(words: str, seen: str) -> tuple[str, str]:
    """A part of a page, by its name in the row of parts."""
    return f'one("[data-testid=stButtonGroup] button", "{words}")', seen


def titled(words: str) -> str:
    """A figure with this in its title."""
    return f'all(".plot .gtitle").some((e) => e.textContent.includes("{words}"))'


def stage(words: str) -> tuple[str, str]:
    """A stage of the walk through a head."""
    return f'one(".stop", "{words}")', f'one(".stop[aria-current]", "{words}") !== undefined'


def block(name: str, heading: str) -> tuple[str, str]:
    """A block of the drawing."""
    seen = f'all(".hl-arch-block h2")[0]?.textContent.startsWith("{heading}")'
    return f"""all('.sheet .node[data-box="{name}"]')[0]""", seen


def chapter(title: str) -> tuple[str, str]:
    """A chapter of the tour."""
    seen = f'all(".hl-tour-title")[0]?.textContent === "{title}"'
    return f'one("button", "{title}") ?? all("button").find((e) => e.textContent.includes("{title}"))', seen


def zoomed(title: str) -> str:
    """The stage is zoomed in on this."""
    return f'all(".crumb[aria-current]")[0]?.textContent === "{title}"'


PAGES = (
    LearnPage(
        address="start",
        figure='all(".stage .picture").length > 0',
        what="zoom level",
        changes=(
            ("""all('.block-title[data-zoom="decoder.0"]')[0]""", zoomed("Decoder block 0")),
            ("""all('.map[data-zoom="decoder.0.cross_attn"]')[0]""", zoomed("Cross-attention")),
            ('all(".crumb")[0]', zoomed("Overview")),
        ),
    ),
    LearnPage(
        address="tour",
        figure='all("[class*=st-key-hl-tour-figure-] .plot .gtitle").length > 0',
        what="chapter",
        changes=tuple(map(chapter, ("Scaled dot-product attention", "Multi-head attention", "Why attention?"))),
    ),
    LearnPage(
        address="steps",
        figure='all(".lens .number").length > 0',
        what="stage",
        changes=tuple(map(stage, ("q, k, v", "softmax", "W_O", "input"))),
    ),
    LearnPage(
        address="positions",
        figure=titled("512 numbers each"),
        what="part",
        changes=(
            part("Wavelengths", 'all(".plot .gtitle").length > 0 && !' + titled("512 numbers each")),
            part("Shift", titled("R for k")),
            part("Table", titled("512 numbers each")),
        ),
    ),
    LearnPage(
        address="masks",
        figure='all(".mask_matrix .chip").length > 0',
        what="part",
        changes=(
            part("Masks by attention", 'all(".mask_which canvas, .mask_which svg").length > 0'),
            part("Leak test", 'all(".plot .gtitle").length > 0'),
            part("Edit mask", 'all(".mask_matrix .chip").length > 0'),
        ),
    ),
    LearnPage(
        address="architecture",
        figure='all(".sheet .node").length > 0 && all(".hl-arch-block h2").length > 0',
        what="block",
        changes=(
            block("decoder.*.mlp", "Feed forward"),
            block("encoder.*.self_attn", "Multi-head attention, encoder"),
            block("decoder.*.cross_attn", "Multi-head cross-attention"),
        ),
    ),
)


def run() -> list[Row]:
    """Measure with one server and one visitor."""
    with sync_playwright() as playwright, serve() as server:
        browser = launch(playwright)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(PATIENCE)
        page.goto(f"{server.url}/heads")
        wait_for_heatmap(page)
        page.wait_for_timeout(3000)
        rows = [line for of in PAGES for line in measured(page, of)]
        browser.close()
    return rows


def measured(page: Page, of: LearnPage) -> list[Row]:
    """Open a page from another one again and again, then change what it shows."""
    first = []
    for again in range(ROUNDS + 1):
        took = after_click(page, f"""all('[data-testid=stSidebarNavLink][href*="/{of.address}"]')[0]""", of.figure)
        page.wait_for_timeout(1500)
        if again:
            first.append(took)
        if again < ROUNDS:
            after_click(page, """all('[data-testid=stSidebarNavLink][href*="/models"]')[0]""", 'one("h1", "Models")')
            page.wait_for_timeout(800)
    times = []
    for again in range(ROUNDS):
        for target, seen in of.changes:
            took = after_click(page, target, seen)
            page.wait_for_timeout(800)
            if again:
                times.append(took)
    return [row(f"{of.address}: first figure", first), row(f"{of.address}: another {of.what}", times)]


def after_click(page: Page, target: str, seen: str) -> float:
    """The ms from a click to what is to be seen then."""
    took: float = page.evaluate(
        f"""() => {{ {ALL}
          const start = performance.now();
          ({target}).dispatchEvent(new MouseEvent("click", {{ bubbles: true, composed: true, cancelable: true }}));
          return Promise.race([
            ({UNTIL})(start, () => {seen}),
            new Promise((_, fail) => setTimeout(() => fail(new Error("not seen: " + {seen!r})), {PATIENCE})),
          ]);
        }}"""
    )
    return took
