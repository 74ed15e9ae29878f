"""Every page that has a record is drawn, and drawn again, under its name; records are well-formed."""

import re
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared.page import SECTIONS, pages
from tests.pages.conftest import words_of


def test_records_are_in_the_order_of_the_navigation_and_no_two_share_a_place():
    places = [([*SECTIONS].index(page.section), page.place) for page in pages().values()]
    assert places == sorted(set(places))
    assert {page.section for page in pages().values()} == {*SECTIONS}


@pytest.mark.parametrize("url", [*pages()])
def test_fields_have_names_of_their_own_in_the_address_and_in_the_session(url: str):
    names = [field.name for field in pages()[url].fields]
    assert len(names) == len(set(names))
    assert not {*names} & {"model", "text", "packed", "target", "attention", "layer", "head", "language"}
    others = {field.key for other, page in pages().items() if other != url for field in page.fields}
    assert not others & {field.key for field in pages()[url].fields}


@pytest.mark.slow
@pytest.mark.parametrize("url", [*pages()])
def test_a_page_is_drawn_twice_under_its_title(url: str, open_app: Callable[..., AppTest], three_kinds_here: object):
    app = open_app()
    app.switch_page(pages()[url].script)
    for _ in range(2):
        app.run()
        assert not app.exception and not app.error
        title = re.escape(pages()[url].title)
        assert re.search(rf"<h1 class='hl-title'>{title}</h1>", words_of(app)), words_of(app)[:300]
