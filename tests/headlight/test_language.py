"""Texts in the reader's language: gettext's own tools are the oracle of what a catalogue says."""

import gettext
import threading
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

from headlight import language
from headlight.language import (
    add_catalogues,
    ask_for_language,
    localized,
    messages,
    percent,
    plural_forms,
    say,
    say_message,
    say_number,
    speaking,
)
from transformer_core.errors import ConfigError, Message

PO = """
msgid ""
msgstr ""
"Language: de\\n"
"Content-Type: text/plain; charset=utf-8\\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\\n"

msgid "only here, {name}"
msgstr "nur hier, {name}"

msgid "{n} heron"
msgid_plural "{n} herons"
msgstr[0] "{n} Reiher allein"
msgstr[1] "{n} Reiher"

msgid "not translated yet"
msgstr ""
"""


@pytest.fixture
def catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of German beside the others."""
    (tmp_path / "de").mkdir()
    place = tmp_path / "de" / "birds.po"
    place.write_text(PO, encoding="utf-8")
    monkeypatch.setattr(language, "_folders", [*language._folders])
    add_catalogues(tmp_path)
    yield place
    ask_for_language(lambda: "en")
    monkeypatch.undo()
    language._catalogue.cache_clear()
    language.messages.cache_clear()
    language.plural_forms.cache_clear()


def test_a_text_is_english_until_another_language_is_asked_for(catalogue: Path):
    assert say("only here, {name}", name="Ada") == "only here, Ada"
    ask_for_language(lambda: "de")
    assert say("only here, {name}", name="Ada") == "nur hier, Ada"
    ask_for_language(lambda: "xx")  # what nobody speaks
    assert say("only here, {name}", name="Ada") == "only here, Ada"


@pytest.mark.parametrize("number", [0, 1, 2, 21])
def test_numbers_take_the_form_that_gettext_gives(catalogue: Path, number: int):
    with catalogue.open("rb") as file:
        compiled = BytesIO()
        write_mo(compiled, read_po(file, locale="de"))
    compiled.seek(0)
    oracle = gettext.GNUTranslations(compiled).ngettext("{n} heron", "{n} herons", number)
    ask_for_language(lambda: "de")
    assert say_number(number, "{n} heron", "{n} herons") == oracle.format(n=number)
    ask_for_language(lambda: "en")
    assert say_number(number, "{n} heron", "{n} herons") == f"{number} heron{'s' * (number != 1)}"


def test_a_message_is_said_with_all_that_it_holds(catalogue: Path):
    who = Message("only here, {name}", name="Ada")
    message = Message("{n} heron", plural="{n} herons", n=2)
    error = ConfigError("only here, {name}", name=ConfigError("only here, {name}", name=message))
    ask_for_language(lambda: "de")
    assert say_message(who) == "nur hier, Ada"
    assert say_message(message) == "2 Reiher"
    assert say_message(error) == "nur hier, nur hier, 2 Reiher"
    assert say("only here, {name}", name=error) == "nur hier, nur hier, nur hier, 2 Reiher"
    assert say_message(Message.joined(Message("not translated yet"), (who, "1"))) == "nur hier, Adanot translated yet1"
    assert str(error) == "only here, only here, 2 herons"
    ask_for_language(lambda: "en")
    assert say_message(error) == say("{error}", error=error) == str(error)


def test_numbers_have_the_separators_of_the_language():
    assert (localized(66048), localized(6283.19, ",.1f"), localized(999)) == ("66,048", "6,283.2", "999")
    with speaking("de"):
        assert (localized(66048), localized(6283.19, ",.1f")) == ("66\u202f048", "6\u202f283,2")
        assert (
            say("{a:.2f}, {b}, {c:,}, {d!r}, {e:.3}", a=0.5, b=1.5, c=1234.5, d=0.5, e="1.2")
            == "0,50, 1,5, 1\u202f234,5, 0.5, 1.2"
        )


def test_a_percent_sign_stands_as_the_reader_writes_it():
    assert (percent(0.125), percent(0.125, 1)) == ("12%", "12.5%")
    with speaking("de"):
        assert (percent(0.125), percent(0.125, 1)) == ("12\u00a0%", "12,5\u00a0%")
        assert say("{share:.1%} of {n:,}", share=0.5, n=1000) == "50,0\u00a0% of 1\u202f000"


def test_what_no_catalogue_has_stays_english(catalogue: Path):
    ask_for_language(lambda: "de")
    assert say("nobody translated this") == "nobody translated this"
    assert say("not translated yet") == "not translated yet"
    assert say("") == ""
    assert say("{braces} stay where nothing is put in") == "{braces} stay where nothing is put in"


def test_plain_messages_are_those_of_all_folders(catalogue: Path):
    german = messages("de")
    assert german["only here, {name}"] == "nur hier, {name}"
    assert "not translated yet" not in german and "{n} heron" not in german
    assert messages("en") == {}


POLISH = """
msgid ""
msgstr ""
"Language: pl\\n"
"Content-Type: text/plain; charset=utf-8\\n"
"Plural-Forms: nplurals=3; plural=(n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<12 || n%100>14) ? 1 : 2);\\n"

msgid "{n} heron"
msgid_plural "{n} herons"
msgstr[0] "{n} czapla"
msgstr[1] "{n} czaple"
msgstr[2] "{n} czapli"
"""


def test_each_plural_category_of_a_language_has_its_form(catalogue: Path):
    assert plural_forms("de")["{n} heron"] == {"one": "{n} Reiher allein", "other": "{n} Reiher"}
    assert plural_forms("en") == {}
    polish = catalogue.parents[1] / "pl" / "birds.po"
    polish.parent.mkdir()
    polish.write_text(POLISH, encoding="utf-8")
    assert plural_forms("pl")["{n} heron"] == {"one": "{n} czapla", "few": "{n} czaple", "many": "{n} czapli"}


def test_each_reader_has_their_own_language(catalogue: Path):
    of_thread = threading.local()
    ask_for_language(lambda: getattr(of_thread, "language", "en"))
    heard: dict[str, str] = {}

    def read(reader: str) -> None:
        of_thread.language = reader
        heard[reader] = say("only here, {name}", name="x")

    threads = [threading.Thread(target=read, args=(reader,)) for reader in ("de", "en")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert heard == {"de": "nur hier, x", "en": "only here, x"}
