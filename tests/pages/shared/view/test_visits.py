"""What a page is for is open at the first visit and folded from then on, in this session and the next one."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared.page import pages
from pages.shared.view import visits
from tests.pages.conftest import OpenApp, url_of, words_of

pytestmark = pytest.mark.usefixtures("checkpoints")


def is_open(app: AppTest) -> bool:
    """Whether what the page is for is open."""
    (details,) = re.findall(r"<div class='hl-heading'><h1[^>]*>.*?</h1><details( open)?>", words_of(app))
    return bool(details)


def remembered(app: AppTest) -> str:
    """What the browser is to keep of the pages that were seen; "": nothing new."""
    return "".join(re.findall(rf"{visits.COOKIE}=([^;]*);", words_of(app)))


def go(app: AppTest, page: str) -> AppTest:
    return app.switch_page(pages()[page].script).run()


def test_the_first_visit_opens_it_and_leaving_folds_it(open_app: OpenApp, browser_that_was_here: dict[str, str]):
    browser_that_was_here.clear()
    app = open_app("heads", model="en-fr")
    assert is_open(app) and remembered(app) == "heads"
    app.text_input(key="text-line").set_value("The dog sleeps.").run()
    assert is_open(app)  # whatever is done there
    go(app, "masks")
    assert is_open(app) and remembered(app) == "heads.masks"
    go(app, "heads")
    assert not is_open(app) and not remembered(app)


def test_it_is_folded_where_somebody_presents_the_page(open_app: OpenApp, browser_that_was_here: dict[str, str]):
    browser_that_was_here.clear()
    app = open_app("heads", model="en-fr", presenter="on")
    assert not is_open(app) and not remembered(app)


def test_another_session_knows_what_was_seen_and_begins_at_the_page_start(
    open_app: OpenApp, browser_that_was_here: dict[str, str]
):
    browser_that_was_here[visits.COOKIE] = "heads.<b>"
    app = open_app("", model="other")
    assert re.search("<h1 class='hl-title'>Start</h1>", words_of(app))
    assert url_of(app) == {"model": "other"}
    assert not is_open(go(app, "heads"))
    assert is_open(go(app, "masks")) and remembered(app) == "b.heads.masks.start"
