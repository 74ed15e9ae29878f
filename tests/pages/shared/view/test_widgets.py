"""Widgets of choices: each shows what is chosen, takes what a person chooses, and says labels and options as text."""

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared.view.fields import Kept


def page() -> None:
    """A page with one widget of each kind."""
    from pages.shared.view.fields import Field, Kept, text_up_to

    kept = {name: Kept(name, usual) for name, usual in (("n", 2), ("on", False), ("many", []), ("span", (1, 3)))}
    Field("test", "one", "b", text_up_to(9)).selectbox("*One*", ["a", "b", "c"], name=str.upper)
    Field("test", "few", "x", text_up_to(9)).segmented("Few", ["x", "[y](z)"])
    Field("test", "words", "", text_up_to(9)).text("Words")
    Field("test", "lines", "", text_up_to(9)).text_area("Lines")
    kept["n"].number("Number", 0, 9)
    kept["span"].slider("Span", 0, 9)
    kept["on"].toggle("On")
    kept["many"].multiselect("Many", [1, 2, 3])
    Kept("shown").selectbox("Shown", [1, 2, 3], shown=3, take=lambda value: Kept("taken").set(value * 10), part="else")


CHOICES: list[tuple[str, str, Any]] = [
    ("selectbox", "test-one-box", "c"),
    ("segmented_control", "test-few-segments", "[y](z)"),
    ("text_input", "test-words-box", "hello"),
    ("text_area", "test-lines-box", "a\nb"),
    ("number_input", "n-box", 7),
    ("slider", "span-box", (2, 5)),
    ("toggle", "on-box", True),
    ("multiselect", "many-box", [1, 3]),
]


def test_what_is_chosen_is_the_value_and_stays_there_and_labels_are_text():
    app = AppTest.from_function(page).run()
    assert app.selectbox(key="test-one-box").value == "b" and app.slider(key="span-box").value == (1, 3)  # as usual
    assert app.selectbox(key="test-one-box").label == r"\*One\*"
    assert app.selectbox(key="test-one-box").options == ["A", "B", "C"]
    options = app.segmented_control(key="test-few-segments").proto.options
    assert [option.content for option in options] == ["x", r"\[y\](z)"]
    for kind, key, chosen in CHOICES:
        getattr(app, kind)(key=key).set_value(chosen).run()
        assert not app.exception and app.session_state[key.rpartition("-")[0]] == chosen
    app.run()
    assert [getattr(app, kind)(key=key).value for kind, key, _ in CHOICES] == [chosen for _, _, chosen in CHOICES]
    app.selectbox(key="shown-else").set_value(2).run()  # what is shown and taken is another than the value
    assert app.session_state["taken"] == 20 and "shown" not in app.session_state
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
        box.set_value(former).run()  # type: ignore[attr-defined]
        assert not app.exception
        assert key not in app.session_state and app.session_state[f"{key}-box"] == usual
