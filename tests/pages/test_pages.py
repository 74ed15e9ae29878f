"""Every page that has a record is drawn, and drawn again, under its name; records and style sheets are well-formed."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared import style
from pages.shared.least_text import with_least_text
from pages.shared.page import SECTIONS, pages
from tests.pages.conftest import PROMPTS, app_at, url_of, view_of, words_of

HEAD = ("attention", "layer", "head")


def test_records_are_in_the_order_of_the_navigation_and_no_two_share_a_place():
    places = [([*SECTIONS].index(page.section), page.place) for page in pages().values()]
    assert places == sorted(set(places))
    assert {page.section for page in pages().values()} == {*SECTIONS}


def test_fields_have_names_of_their_own_in_the_address_and_keys_in_the_session():
    of_pages = {url: page.fields for url, page in pages().items()}
    for url, own in of_pages.items():
        names = [field.name for field in own]
        assert len(names) == len({*names}), url
        assert not {*names} & {"model", "text", "packed", "target", "attention", "layer", "head", "language"}, url
        others = [field for other, of in of_pages.items() if other != url for field in of if field not in own]
        assert not {field.key for field in others} & {field.key for field in own}, url


@pytest.mark.parametrize("url", [*pages()])
def test_a_page_is_drawn_twice_under_its_title_and_its_address_names_nothing_that_is_as_usual(
    url: str, three_kinds_here: object
):
    app = app_at(url, {})
    for _ in range(2):
        app.run()
        assert not app.exception and not app.error
        title = re.escape(pages()[url].title)
        assert re.search(rf"<h1 class='hl-title'>{title}</h1>", words_of(app)), words_of(app)[:300]
        assert {*url_of(app)} <= ({"attention", "layer", "head"} if pages()[url].usual_head is None else set())


@pytest.mark.usefixtures("three_kinds_here")
def test_the_address_names_a_head_that_another_page_begins_with(open_app: Callable[..., AppTest]):
    """Steps begins with the first head of the encoder, and the others with one of the last layer."""
    app = open_app("heads")
    heads, steps = pages()["heads"].script, pages()["steps"].script
    usual = {name: view_of(app)[name] for name in HEAD}
    assert url_of(app) == {} and usual == {"attention": "cross", "layer": "1", "head": "0"}
    app.switch_page(steps).run()
    assert url_of(app) == {} and view_of(app)["attention"] == "encoder"
    for name, value in usual.items():
        app.session_state[name] = value if name == "attention" else int(value)
    app.run()
    assert {name: url_of(app)[name] for name in HEAD} == usual
    link = url_of(app)
    app.query_params.clear()  # as a browser does that opens a page by its name
    app.switch_page(heads).run()
    assert url_of(app) == {} and {name: view_of(app)[name] for name in HEAD} == usual
    assert url_of(open_app("steps", **link)) == link
    app = open_app("heads", model="tales")
    assert url_of(app) == {"model": "tales"} and view_of(app)["text"] == PROMPTS[0]
    app.text_input(key="text-line").set_value(PROMPTS[1]).run()
    assert url_of(app) == {"model": "tales", "text": PROMPTS[1]}
    app.selectbox(key="model-box").select("en-fr").run()
    assert url_of(app) == {}


FOLDER = Path(style.__file__).with_name("styles")
ROOMS = FOLDER.parents[1]


def test_each_sheet_is_there_once_and_the_shared_ones_come_first():
    joined = style.sheet()
    shared = [FOLDER / name for name in style.SHARED_SHEETS]
    of_pages = [sheet for page in pages().values() for sheet in sorted(page.folder.glob("*.css"))]
    assert {*shared} == {*FOLDER.glob("*.css")}
    others = (ROOMS / "components", FOLDER.parent)
    assert {*of_pages} == {sheet for sheet in ROOMS.glob("*/*/*.css") if sheet.parents[1] not in others}
    whole = "".join(sheet.read_text(encoding="utf-8") for sheet in (*shared, *of_pages))
    assert joined.endswith(with_least_text(whole))


def test_no_rule_asks_every_element_what_it_has():
    """With one that does, each label that plotly measures takes ten times as long: the whole page is checked again."""
    for sheet in FOLDER.parent.rglob("*.css"):
        assert not re.findall(r"(?:^|[\s,>+~(]):has\(", sheet.read_text(encoding="utf-8")), sheet
