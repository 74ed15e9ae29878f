"""The page Architecture in a real Chromium: in a small window, what is said of a block comes into sight."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.conftest import PROJECTOR
from tests.e2e.looking import wait

pytestmark = pytest.mark.browser


def open_page(page: Page, address: str = "/architecture") -> None:
    """Go there, and wait until the model is drawn."""
    page.goto(address)
    expect(box(page, "softmax")).to_be_visible()


def box(page: Page, name: str) -> Locator:
    """A block; "*" stands for the number of the layer that is open."""
    return page.locator(f'.sheet .node[data-box="{name}"]')


def test_in_a_small_window_a_chosen_block_brings_its_panel_into_sight(new_page: Callable[..., Page]):
    page = new_page(viewport=PROJECTOR)
    open_page(page, "/architecture?language=de")
    wait(page)
    panel = page.locator(".st-key-hl-arch-block")
    expect(panel).not_to_be_in_viewport()
    box(page, "unembed").press("Enter")
    expect(panel).to_be_in_viewport(ratio=0.3)
    wait(page)
    expect(panel).to_be_in_viewport(ratio=0.3)
