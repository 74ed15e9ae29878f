"""What fields make of a URL, the URL that gives the same again, and the widgets in which they are chosen."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from pages.shared.page import pages
from pages.shared.view import fields
from pages.shared.view.fields import (
    Field,
    Kept,
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


def page() -> None:
    """A page with a widget of options, and one that shows and takes another value than its own."""
    from pages.shared.view.fields import Field, Kept, text_up_to

    Field("test", "few", "x", text_up_to(9)).segmented("*Few*", ["x", "[y](z)"])
    Kept("shown").selectbox("Shown", [1, 2, 3], shown=3, take=lambda value: Kept("taken").set(value * 10), part="else")


def test_what_is_chosen_is_the_value_or_is_taken_and_labels_are_text():
    app = AppTest.from_function(page).run()
    few = app.segmented_control(key="test-few-segments")
    assert (few.label, few.proto.options[1].content) == (r"\*Few\*", r"\[y\](z)")
    few.set_value("[y](z)")
    app.selectbox(key="shown-else").set_value(2).run()
    assert not app.exception and app.session_state["test-few"] == "[y](z)"
    assert app.session_state["taken"] == 20 and "shown" not in app.session_state
    app.run()
    assert app.segmented_control(key="test-few-segments").value == "[y](z)"
    assert app.selectbox(key="shown-else").value == 3


def test_nothing_chosen_is_the_usual_value(monkeypatch: pytest.MonkeyPatch):
    session: dict[str, Any] = {"empty": "some"}
    monkeypatch.setattr("streamlit.session_state", session)
    bound = Kept("empty", "usual")._bound({"width": 90})
    assert (bound["key"], session["empty-box"], bound["width"]) == ("empty-box", "some", 90)
    session["empty-box"] = None  # as a browser sends where the cross was clicked
    bound["on_change"]()
    assert session["empty"] == "usual"


def test_what_was_popped_is_as_usual_again(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("streamlit.session_state", {})
    note = Kept("note", "")
    assert (note.is_chosen, note.pop()) == (False, "")
    note.set("said")
    assert (note.is_chosen, note.pop(), note.value, note.is_chosen) == (True, "said", "", False)


def test_a_name_that_could_be_chosen_on_another_text_is_nobodys_choice():
    """A browser sends the names of what is chosen with every click, also of a widget whose options have changed."""

    def labels() -> None:
        from pages.shared.view.fields import Kept

        Kept("n", 2).selectbox("Number", [1, 2], name=lambda n: f"{n} dog")
        Kept("many", []).multiselect("Many", [1, 2], name=lambda n: f"{n} dog")

    app = AppTest.from_function(labels).run()
    for box, key, former in ((app.selectbox(key="n-box"), "n", 3), (app.multiselect(key="many-box"), "many", [3])):
        usual, box.options = box.value, ["3 dog"]
        box.set_value(former).run()
        assert not app.exception
        assert key not in app.session_state and app.session_state[f"{key}-box"] == usual
