"""The presenter layout: chosen by hand, kept by the browser, asked for by an address; no text becomes too small."""

import re

import pytest
from markupsafe import escape
from streamlit.testing.v1 import AppTest

from pages.shared import presenter
from pages.shared.least_text import VARIABLE, with_least_text
from pages.shared.page import pages
from tests.pages.conftest import OpenApp, words_of


def least(app: AppTest) -> list[str]:
    return re.findall(rf"{VARIABLE}: (\w+)", words_of(app))


def test_each_size_of_a_style_sheet_has_a_least():
    sizes = {"font-size: 12px;": "12px", "font-size: clamp(9px, 2vw, 1rem) !important;": "clamp(9px, 2vw, 1rem)"}
    sizes |= {"font: 600 0.8em/1.4 var(--st-font);": "0.8em", "font: 13px x;": "13px"}
    for rule, size in sizes.items():
        assert with_least_text(rule) == rule.replace(size, f"max({size}, var({VARIABLE}, 0px))")
    for rule in ("font-size: 0;", "font-size: inherit;", "font: inherit;", "line-height: 12px;", "width: 12px;"):
        assert with_least_text(rule) == rule


def test_the_style_sheet_is_sent_as_it_is_written(session: dict[str, object]):
    session[presenter.PRESENTER.key] = True
    assert "hl-said" in presenter.style() and escape(presenter.style()) == presenter.style()


@pytest.mark.usefixtures("checkpoints")
def test_the_switch_folds_the_sidebar_on_every_page_until_it_is_off(
    open_app: OpenApp, browser_that_was_here: dict[str, str]
):
    app = open_app("heads")
    assert app.sidebar.toggle(key="presenter-box").value is False and not least(app)
    app.sidebar.toggle(key="presenter-box").set_value(True).run()
    assert f"{presenter.COOKIE}=on" in words_of(app)
    for page in ("masks", "server", "heads"):
        app.switch_page(pages()[page].script).run()
        assert not app.exception and least(app) == ["14px"] and not len(app.sidebar), page
        assert presenter.COOKIE not in words_of(app)
        assert app.button_group(key="language-segments").value == "en"
    app.toggle(key="presenter-box").set_value(False).run()
    assert len(app.sidebar) and not least(app) and f"{presenter.COOKIE}=off" in words_of(app)
    browser_that_was_here[presenter.COOKIE] = "on"
    assert least(open_app("heads")) and not least(open_app("heads", presenter="off"))
    del browser_that_was_here[presenter.COOKIE]
    assert least(open_app("heads", presenter="on")) and not least(open_app("heads", presenter="<b>"))
