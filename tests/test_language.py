"""Texts in the reader's language: gettext's own tools are the oracle of what a catalogue says."""

import gettext
import threading
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from hypothesis import given
from hypothesis import strategies as st

from transformer_core import language
from transformer_core.language import (
    add_catalogues,
    ask_for_language,
    grouped,
    messages,
    say,
    say_again,
    say_number,
    speaking,
)

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
    language._said_again.cache_clear()


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


def test_thousands_are_set_apart_as_the_reader_does():
    assert (grouped(66048), grouped(6283.19, ",.1f"), grouped(999)) == ("66,048", "6,283.2", "999")
    with speaking("de"):
        assert (grouped(66048), grouped(6283.19, ",.1f")) == ("66\u202f048", "6\u202f283.2")


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


def test_each_reader_has_their_own_language(catalogue: Path):
    of_thread = threading.local()
    ask_for_language(lambda: getattr(of_thread, "language", "en"))
    heard: dict[str, str] = {}

    def read(asked: str) -> None:
        of_thread.language = asked
        heard[asked] = say("only here, {name}", name="x")

    threads = [threading.Thread(target=read, args=(asked,)) for asked in ("de", "en")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert heard == {"de": "nur hier, x", "en": "only here, x"}


def test_what_was_said_in_english_elsewhere_is_said_again(catalogue: Path):
    told = say("only here, {name}", name="Ada Lovelace")
    assert say_again(told) == told
    ask_for_language(lambda: "de")
    first = language._folders.pop(-1)  # the sentences of the core alone are looked for
    language._folders.insert(0, first)
    language._sentences.cache_clear()
    try:
        assert say_again("only here, Ada Lovelace") == "nur hier, Ada Lovelace"
        assert say_again("only here, only here, Ada") == "nur hier, nur hier, Ada"  # a value that was said too
        assert say_again("only here, 1. only here, 2; and more") == "nur hier, 1. nur hier, 2; and more"
        assert say_again("only here, ") == "only here, "  # nothing stands where a value must
        assert say_again("not translated yet") == "not translated yet"
        assert say_again("") == ""
    finally:
        language._sentences.cache_clear()


@given(text=st.text(max_size=60))
def test_a_text_that_nobody_said_stays_as_it_is(text: str):
    with speaking("de"):
        assert say_again(f"€{text}€") == f"€{text}€"
