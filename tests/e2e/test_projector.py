"""On a projector and on a laptop every page has its figure in sight."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, TimeoutError, expect

from pages.shared.page import pages
from pages.shared.view import visits
from tests.e2e.browser import Server
from tests.e2e.looking import faults, see_canvases, wait

pytestmark = pytest.mark.browser

TOP = {(1024, 768): 240, (1440, 900): 300}  # px, at most, from the top of the window to the figure
FIGURE = {  # of pages whose figure is no component: what they show
    "train": ".st-key-run-curves",
    "models": ".st-key-hl-models-list",
    "glossary": "[class*='st-key-hl-glossary-topic-']",
    "server": ".st-key-hl-server [data-testid='stDataFrame']",
}
SEVERAL = {  # further states that begin with a figure of their own
    "decoding": ("model=stories", "model=fill-in"),
    "heads": ("model=stories",),
    "masks": ("part=dropout",),
    "positions": ("encoding=rotary_halves", "part=model"),
    "compare": ("view=changed",),
}
TOP_OF = """selector => Math.min(...[...document.querySelectorAll(selector)].map((one) => one.getBoundingClientRect())
  .filter(({ height, width }) => height > 60 && width > 100).map(({ y }) => y))"""
COMPONENT = '[data-testid="stMain"] [data-testid^="stBidiComponent"], .hl-blanks-text'


@pytest.fixture(scope="module")
def server(server_with_run: Server) -> Server:
    """The app with the models that it comes with, and one training."""
    return server_with_run


@pytest.mark.parametrize("size", TOP, ids=["projector", "laptop"])
def test_every_figure_begins_at_the_top(size: tuple[int, int], new_page: Callable[..., Page], server: Server):
    page = new_page(viewport=dict(zip(("width", "height"), size, strict=True)))
    page.set_default_timeout(20_000)
    page.context.add_cookies([{"name": visits.COOKIE, "value": ".".join(pages()), "url": server.url}])
    see_canvases(page)
    low, broken = {}, {}
    for address in pages():
        for rest in ("run=first" if address in ("train", "film") else "", *SEVERAL.get(address, ())):
            page.goto(f"/{address}?{rest}")
            wait(page)
            selector = FIGURE.get(address, COMPONENT)
            try:
                page.wait_for_function(f"([selector, most]) => ({TOP_OF})(selector) <= most", arg=[selector, TOP[size]])
            except TimeoutError:
                low[address, rest] = page.evaluate(TOP_OF, selector)
            if found := faults(page):
                broken[address, rest] = found
    assert not low
    assert not broken


def test_a_block_of_the_architecture_shows_its_panel_where_that_lies_below(new_page: Callable[..., Page]):
    page = new_page(viewport={"width": 1024, "height": 768})
    page.goto("/architecture")
    wait(page)
    panel = page.locator(".st-key-hl-arch-block")
    expect(panel).not_to_be_in_viewport()
    page.locator(".st-key-architecture-drawing [data-box='unembed']").press("Enter")
    expect(panel).to_be_in_viewport(ratio=0.3)
    wait(page)
    expect(panel).to_be_in_viewport(ratio=0.3)
