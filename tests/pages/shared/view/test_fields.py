"""What a view's fields make of a URL: a value that is correct, or a sentence; and the URL that gives the same again."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pages.shared.page import pages
from pages.shared.view import fields
from pages.shared.view.fields import (
    Field,
    TextField,
    fill,
    number,
    one_of,
    text_up_to,
    window,
    window_in_words,
    written,
)

WORD = Field("page", "word", "b", one_of("a", "b", ""))
PLACE = Field("page", "place", None, number)
PART = Field("page", "part", None, window, window_in_words)
TEXT = Field("page", "text", "", text_up_to(5))
OWN = (WORD, PLACE, PART, TEXT)

WITHOUT_TEXTS = [  # pages with fields, which each say what is wrong; a text is never wrong
    url
    for url, page in pages().items()
    if page.fields and not any(isinstance(field, TextField) for field in page.fields)
]
ANYTHING = st.text(max_size=60) | st.text("0123456789-.+:", max_size=24) | st.sampled_from(["pattern", "word", "flow"])


def wanted_of(page: tuple[Field, ...]) -> st.SearchStrategy[dict[str, str]]:
    """Any URL: fields of the page and others, with any text."""
    return st.dictionaries(st.sampled_from([field.name for field in page]) | st.text(max_size=5), ANYTHING, max_size=6)


def held(page: tuple[Field, ...]) -> dict[str, Any]:
    return {field.name: field.value for field in page}


def holds_whatever_the_address_says(page: tuple[Field, ...], wanted: dict[str, str]) -> None:
    """A value or a note for each, never another exception; what is written gives the same values, and is written so."""
    notes = fill(page, wanted)
    values, url = held(page), written(page)
    by_name = {field.name: field for field in page}
    refused = {name for name in wanted if name in by_name and any(f" {name} “" in note for note in notes)}
    assert len(notes) == len(refused)
    for name, field in by_name.items():
        if name not in wanted or name in refused:
            assert values[name] == field.usual and name not in url
        else:
            assert values[name] == field.read(wanted[name])
    assert all(note.startswith("The address has ") and note.endswith(".") for note in notes)
    assert url.keys() <= by_name.keys() and all(isinstance(value, str) for value in url.values())
    assert fill(page, url) == []
    assert held(page) == values and written(page) == url


def test_a_field_is_as_usual_until_something_is_chosen():
    fill(OWN, {})
    assert held(OWN) == {"word": "b", "place": None, "part": None, "text": ""} and written(OWN) == {}
    PLACE.set(0)
    assert PLACE.value == 0 and written(OWN) == {"place": "0"}
    assert fill(OWN, {"word": "a", "place": "12", "part": "0-12.3-9", "text": "a long text", "model": "en-fr"}) == []
    assert held(OWN) == {"word": "a", "place": 12, "part": ((0, 12), (3, 9)), "text": "a lon"}
    assert fill(OWN, {"word": "b"}) == [] and written(OWN) == {}  # as usual: the rest is as usual again


def test_a_decimal_lies_between_its_ends_which_count():
    for above in (False, True):
        read = fields.decimal(0.5, 2.0, above=above)
        assert [read(text) for text in ("0.51", "2.0", "0.6" if above else "0.5")] == [0.51, 2.0, 0.6 if above else 0.5]
        for text in ("0.49", "2.01", "inf", "nan", "", *(["0.5"] if above else [])):
            with pytest.raises(ValueError, match="it must be a number"):
                read(text)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("word", "c" * 99, f"has word “{'c' * 40}”; it must be one of a, b."),
        ("place", "-1", "“-1”; it must be a whole number, 0 or more."),
        ("place", "1234567", "a whole number"),
        ("part", "12-0.3-9", "the format is first-last query, a dot, first-last key: 0-12.3-9."),
        ("part", "0-12.3-9 ", "the format is"),
    ],
)
def test_what_is_asked_for_wrongly_is_told_in_one_sentence(name: str, value: str, message: str):
    PLACE.set(5)
    (note,) = fill(OWN, {name: value, "text": "held"})
    assert message in note and held(OWN) == {"word": "b", "place": None, "part": None, "text": "held"}


@pytest.mark.parametrize("url", ["", *WITHOUT_TEXTS])
@settings(max_examples=25)
@given(data=st.data())
def test_any_address_of_a_page_gives_values_or_notes(url: str, data: st.DataObject):
    page = tuple(pages()[url].fields) if url else OWN
    holds_whatever_the_address_says(page, data.draw(wanted_of(page)))


@pytest.mark.parametrize(
    ("page", "wanted"),
    [
        ("heads", {"mix": "0.1:0.000+1.3:0.5", "window": "3-3.0-0", "hide": "special+sinks", "measure": "entropy"}),
        *(("heads", {"mix": mix}) for mix in ("0.1:٠.٥", "0.1+0.1", "0.1:1.5", "0", "12345.0")),
        ("decoding", {"branches": "~12.!44.7", "branch": "1", "step": "3", "temperature": "0.75", "top_p": "0.9"}),
        ("decoding", {"branches": "~~1~01", "temperature": "1e-3", "min_p": "nan", "top_p": "0", "penalty": "inf"}),
    ],
)
def test_an_odd_address_gives_values_or_notes(page: str, wanted: dict[str, str]):
    holds_whatever_the_address_says(tuple(pages()[page].fields), wanted)
