"""The page of docs/extending.md: one folder and a file of German words, and nothing else is touched."""

import re

from playwright.sync_api import Page, expect

from tests.e2e.conftest import NEW_PAGE


def test_it_is_in_the_navigation_draws_what_is_chosen_restores_a_link_and_speaks_german(page: Page):
    assert [*NEW_PAGE] == ["pages/explore/row/__init__.py", "pages/explore/row/page.py", "pages/languages/de/row.po"]
    page.goto("/heads")
    page.get_by_test_id("stSidebarNavLink").filter(has_text="Row").click()
    expect(page.get_by_role("heading", name="Row", level=1)).to_be_visible()
    title = page.locator(".figure .gtitle")
    expect(title).to_contain_text("query 0")
    page.get_by_role("slider", name="Query").press("ArrowRight")
    expect(title).to_contain_text("query 1")
    expect(page).to_have_url(re.compile(r"/row\?.*query=1"))
    page.goto("/row?query=many")
    expect(page.get_by_text("The address has query “many”")).to_be_visible()
    page.goto("/row?query=2&language=de")
    expect(page.get_by_role("heading", name="Zeile", level=1)).to_be_visible()
    expect(title).to_contain_text("2")
