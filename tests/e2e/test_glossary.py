"""A definition is one click away from the term on a page, and one more leads back to a page that shows it."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.e2e.conftest import PROJECTOR
from tests.e2e.looking import open_address

ASKED = ".hl-glossary-asked"


def test_every_formula_fits_its_column_and_a_term_leads_to_the_page_that_shows_it(new_page: Callable[..., Page]):
    page = new_page(viewport=PROJECTOR)
    open_address(page, "glossary")
    expect(page.locator("math").first).to_be_visible()
    too_wide = """() => [...document.querySelectorAll(".hl-glossary-topic p")]
        .filter((line) => line.scrollWidth > line.clientWidth + 1).map((line) => line.textContent)"""
    assert page.evaluate(too_wide) == []
    open_address(page, "glossary?term=induction-score")
    with page.expect_popup() as opened:
        page.locator(f"{ASKED} a").click()
    expect(opened.value.locator("h1", has_text="Heads")).to_be_visible()
    expect(opened.value).to_have_url(re.compile("/heads.*model=induction.*measure=induction"))
