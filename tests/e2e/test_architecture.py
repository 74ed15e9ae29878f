"""The Architecture page in a real Chromium: in a small window, a block's details scroll into view."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.e2e.conftest import PROJECTOR
from tests.e2e.looking import open_address, wait


def test_in_a_small_window_a_chosen_block_brings_its_panel_into_sight(new_page: Callable[..., Page]):
    page = new_page(viewport=PROJECTOR)
    open_address(page, "architecture?language=de")
    panel = page.locator(".st-key-hl-arch-block")
    expect(panel).not_to_be_in_viewport()
    page.locator('.sheet .node[data-box="unembed"]').press("Enter")
    expect(panel).to_be_in_viewport(ratio=0.3)
    wait(page)
    expect(panel).to_be_in_viewport(ratio=0.3)
