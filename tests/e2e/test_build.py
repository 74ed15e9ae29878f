"""The Build page in a real Chromium: Enter runs a line, and all that a learner looks at is in the window."""

import re

from playwright.sync_api import Page, expect

from tests.e2e.looking import box_of, faults, open_address, see_canvases, wait

FIGURES = ('[class*="st-key-build-yours"]', '[class*="st-key-build-expected"]')


def test_enter_runs_a_line_and_line_verdict_and_pictures_are_seen_without_scrolling(page: Page):
    open_address(see_canvases(page), "build?model=stories&step=8")
    line, verdict = page.get_by_label("Line 8"), page.locator(".hl-build-verdict")
    line.fill("weights / weights.sum(dim=0, keepdim=True)")
    line.press("Enter")
    expect(verdict).to_contain_text("Here the columns sum to 1.")
    wait(page)
    for seen in (line, verdict, *map(page.locator, FIGURES)):
        expect(seen).to_be_in_viewport(ratio=0.99)
    assert not faults(page)
    page.set_viewport_size({"width": 640, "height": 900})
    wait(page)
    yours, expected = (box_of(page.locator(selector)) for selector in FIGURES)
    assert yours["y"] + yours["height"] <= expected["y"] and not faults(page)  # they stand below each other
    line.fill("weights / weights.sum(dim=-1, keepdim=True)")
    line.press("Enter")
    expect(verdict).to_contain_text("Correct")
    wait(page)  # until the button listens to its keys
    line.blur()
    page.keyboard.press("Shift+ArrowRight")
    expect(page.get_by_label("Line 9")).to_be_visible()
    expect(page).to_have_url(re.compile("step=9"))
