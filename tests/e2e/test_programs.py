"""The page Programs in a real Chromium: a line is chosen, gets a mistake, and pattern and output show it."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.looking import faults, open_address, see_canvases, wait

pytestmark = pytest.mark.browser


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
        box = seen.bounding_box()
        assert box and box["y"] >= 0 and box["y"] + box["height"] <= 900, box
    assert not faults(page)
    table.locator(".line").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_text("L1.H0 as written")).to_be_visible()
    expect(page).not_to_have_url(re.compile("mistake"))


def test_in_a_window_of_1024_nothing_is_cut_and_an_own_program_is_written(new_page: Callable[..., Page]):
    page = new_page(viewport={"width": 1024, "height": 768})
    open_address(see_canvases(page), "programs?program=reverse")
    expect(page.get_by_text("L2.H0 as written")).to_be_visible()
    wait(page)
    assert not faults(page)
    page.get_by_text("Edit the program").click()
    lines = page.get_by_role("textbox", name="Program", exact=True).last
    lines.fill("same = select(tokens, tokens, lambda key, query: key == query)\nn = selector_width(same)")
    lines.press("Control+Enter")
    expect(page.locator(".st-key-programs-listing tbody tr")).to_have_count(2)
    expect(page).to_have_url(re.compile("source=same"))


def test_the_longest_example_is_in_view_with_all_its_lines(page: Page):
    open_address(see_canvases(page), "programs?program=addition")
    table = page.locator(".st-key-programs-listing")
    expect(table.locator("tbody tr.chosen")).to_contain_text("13")
    wait(page)
    chosen, below = (table.locator(part).bounding_box() for part in ("tbody tr.chosen", "tfoot tr"))
    assert chosen and below and chosen["y"] + chosen["height"] <= below["y"] + 1
