"""Widgets of choices: each shows what is chosen, takes what a person chooses, and says labels and options as text."""

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared.view.fields import Kept


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
