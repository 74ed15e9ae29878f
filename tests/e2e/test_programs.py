"""The Programs page in a real Chromium: a line is chosen, gets a mistake, and pattern and output show it."""

import re

from playwright.sync_api import Page, expect

from tests.e2e.looking import box_of, faults, open_address, see_canvases, wait


def test_a_line_is_chosen_by_click_and_key_and_a_mistake_is_seen_without_scrolling(page: Page):
    open_address(see_canvases(page), "programs?program=induction")
    table = page.locator(".st-key-programs-listing")
    expect(table.locator("tfoot")).to_contain_text("????adbc")
    table.locator(".line").first.click()
    expect(page).to_have_url(re.compile("line=1"))
    expect(page.get_by_text("L0.H0 as written")).to_be_visible()
    typed = page.get_by_label("Or write the line yourself")
    typed.fill("previous = aggregate(select(indices, indices, lambda key, query: key == query - 2), tokens)")
    typed.press("Enter")
    expect(page.get_by_text("L0.H0 with the mistake")).to_be_visible()
    expect(table.locator("tfoot tr").last).to_contain_text("dchanged")
    wait(page)
    for seen in (table, typed, page.locator('[class*="st-key-programs-as-written"]')):
        expect(seen).to_be_in_viewport(ratio=0.99)
    assert not faults(page)
    table.locator(".line").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_text("L1.H0 as written")).to_be_visible()
    expect(page).not_to_have_url(re.compile("mistake"))
    open_address(page, "programs?program=addition")  # the longest
    expect(table.locator("tbody tr.chosen")).to_contain_text("13")
    wait(page)
    chosen, below = (box_of(table.locator(part)) for part in ("tbody tr.chosen", "tfoot tr"))
    assert chosen["y"] + chosen["height"] <= below["y"] + 1  # in view
