"""The page Build in a real Chromium: Enter runs a line, and all that a learner looks at is in the window."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.looking import faults, open_address, see_canvases, wait

pytestmark = pytest.mark.browser

FIGURES = ('[class*="st-key-build-yours"]', '[class*="st-key-build-expected"]')


def test_enter_runs_a_line_and_line_verdict_and_pictures_are_seen_without_scrolling(page: Page):
    open_address(see_canvases(page), "build?model=stories&step=8")
    line, verdict = page.get_by_label("Line 8"), page.locator(".hl-build-verdict")
    line.fill("weights / weights.sum(dim=0, keepdim=True)")
    line.press("Enter")
    expect(verdict).to_contain_text("Here the columns sum to 1.")
    wait(page)
    for seen in (line, verdict, *map(page.locator, FIGURES)):
        box = seen.bounding_box()
        assert box and box["y"] >= 0 and box["y"] + box["height"] <= 900, box
    assert not faults(page)
    line.fill("weights / weights.sum(dim=-1, keepdim=True)")
    line.press("Enter")
    expect(verdict).to_contain_text("Correct")
    wait(page)  # until the button listens to its keys
    line.blur()
    page.keyboard.press("Shift+ArrowRight")
    expect(page.get_by_label("Line 9")).to_be_visible()
    expect(page).to_have_url(re.compile("step=9"))


def test_in_a_narrow_window_the_pictures_stand_below_each_other(new_page: Callable[..., Page]):
    page = new_page(viewport={"width": 640, "height": 900})
    open_address(see_canvases(page), "build?model=stories&step=4")
    page.get_by_label("Line 4").fill("k @ q.T")
    page.get_by_label("Line 4").press("Enter")
    expect(page.locator(".hl-build-verdict")).to_contain_text("This is transposed")
    wait(page)
    yours, expected = (page.locator(selector).bounding_box() for selector in FIGURES)
    assert not faults(page)
    assert yours and expected and yours["y"] + yours["height"] <= expected["y"]
