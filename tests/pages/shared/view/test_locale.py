"""The choice of the language: by the browser, by the address, and by hand; texts and numbers stay where they are."""

from itertools import cycle

import pytest

from headlight import language
from pages.shared.model_bar import CLAIM
from pages.shared.view import locale
from tests.pages.conftest import OpenApp, url_of, words_of

pytestmark = pytest.mark.usefixtures("checkpoints")
GERMAN_CLAIM = "Sieh, was jeder Attention-Kopf tut"


def test_the_address_asks_for_a_language_and_without_one_that_is_there_a_page_is_english(open_app: OpenApp):
    for wanted, is_german in ((None, False), ("de", True), ("<b>tlh</b>", False)):
        app = open_app("heads", **({"language": wanted} if wanted else {}))
        assert not app.exception
        assert (GERMAN_CLAIM in words_of(app)) == is_german != (CLAIM in words_of(app))
        assert url_of(app).get("language") == ("de" if is_german else None)


def test_a_page_is_drawn_while_the_language_changes(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch):
    """A run that the switch interrupts continues for a moment, and reads the language that the next run has set."""
    languages = cycle(["en", "de"])
    monkeypatch.setattr(language, "_ask", lambda: next(languages))
    monkeypatch.setattr(locale, "ask_for_language", lambda ask: None)
    assert not open_app("heads").exception


def test_the_language_changes_where_files_can_be_chosen(open_app: OpenApp):
    app = open_app("models")
    app.button_group(key="language-segments").set_value("de").run()
    assert not app.exception and url_of(app).get("language") == "de"
