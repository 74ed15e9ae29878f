"""While a page loads nothing that is already to be seen moves: the places of what comes later are kept free."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.browser import Server

pytestmark = pytest.mark.browser

TOLERANCE = 24  # px, about a row of text; without the places it is 86 to 280
TRACE = """
window.seen = {};
const look = () => {
  for (const selector of WATCHED) {
    const top = document.querySelector(selector)?.getClientRects()[0]?.y; // none: it is there, and not to be seen
    if (top !== undefined) (window.seen[selector] ??= []).push(Math.round(top));
  }
  requestAnimationFrame(look);
};
requestAnimationFrame(look);
"""
TITLE, LOOK = ".hl-title", ".hl-look"
PAGES = {  # of each: what is watched beside its title, and what is there at the end
    "tour": ([".st-key-tour-wide-other-12"], ".st-key-tour-wide-other-12 button"),
    "steps": ([".st-key-steps-figure", LOOK], ".st-key-steps-figure canvas"),
    "masks": ([".st-key-masks-gallery", ".st-key-masks-matrix", LOOK], ".st-key-masks-matrix canvas"),
    "architecture": ([".st-key-architecture-show-segments"], ".st-key-architecture-drawing svg"),
    "heads": ([".st-key-overview", ".st-key-heatmap"], ".figure .gtitle"),
    "decoding": ([".st-key-decoding-writing", ".st-key-decoding-candidates"], ".st-key-decoding-candidates .row"),
    "positions": ([LOOK], LOOK),
    "compare": ([LOOK], ".figure .gtitle"),
    "train?run=": (
        [".st-key-train-source", ".st-key-train-corpus", ".st-key-hl-train-start"],
        ".st-key-start-training",
    ),
    "train?run=first": (
        [".st-key-hl-train-head", ".st-key-run-curves", ".st-key-run-text"],
        ".st-key-run-curves .main-svg",
    ),
    "film?run=first": ([".st-key-film-overview", ".st-key-film-heatmap", LOOK], ".st-key-film-heatmap .gtitle"),
    "models": ([".st-key-hl-model-list-4", ".st-key-hl-models .stTabs"], ".st-key-hl-models .stTabs p"),
}


@pytest.fixture(scope="module")
def server(server_with_run: Server) -> Server:
    """The app with one training."""
    return server_with_run


@pytest.mark.parametrize(
    ("address", "width"),
    [*((address, 1440) for address in PAGES), *((address, 1024) for address in ("steps", "masks", "train?run="))],
)
def test_what_is_seen_stays_where_it_is(address: str, width: int, new_page: Callable[..., Page]):
    page = new_page(viewport={"width": width, "height": 900})
    selectors, last = PAGES[address]
    page.add_init_script(f"const WATCHED = {[TITLE, *selectors]!r};{TRACE}")
    page.goto(f"/{address}")
    expect(page.locator(last).first).to_be_visible()
    expect(page.locator('[data-testid="stSkeleton"]')).to_have_count(0)
    page.wait_for_timeout(500)
    seen = page.evaluate("window.seen")
    assert seen.keys() == {TITLE, *selectors}
    for selector, tops in seen.items():
        assert max(tops) - min(tops) <= TOLERANCE, (selector, sorted(set(tops)))


@pytest.mark.parametrize("width", [1440, 1024])
def test_nothing_moves_when_another_text_is_read_or_remarked_on(width: int, new_page: Callable[..., Page]):
    page = new_page(viewport={"width": width, "height": 900})
    page.goto("/heads")
    expect(page.locator(".figure .gtitle")).to_be_visible()
    expect(page.locator('[data-testid="stSkeleton"]')).to_have_count(0)
    selectors = [TITLE, ".st-key-overview", ".st-key-heatmap"]
    page.evaluate(f"() => {{ const WATCHED = {selectors!r}; {TRACE} }}")
    box = page.get_by_label("Text", exact=True)
    for text, n_remarks in {"The quux sees the cat.": 1, "The cat sees the dog.": 0, "A quux.": 1, "": 0}.items():
        box.fill(text)
        box.press("Enter")
        expect(page.locator(".hl-note")).to_have_count(n_remarks)
        if text:
            expect(page.locator(".st-key-heatmap .gtitle")).to_be_visible()
    for selector, tops in page.evaluate("window.seen").items():
        assert max(tops) - min(tops) <= 3, (selector, sorted(set(tops)))
