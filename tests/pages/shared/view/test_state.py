"""The view's state: what a click may set, and what a text becomes."""

import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from pages.shared.view.long_texts import MAX_CHARACTERS, clean

START = {"attention": "cross", "layer": 1, "head": 0}


def after_click(chosen: Any) -> dict[str, Any]:
    """The state after the overview sent `chosen`."""

    def click() -> None:
        import streamlit

        from pages.shared.view import state

        state.on_head()
        streamlit.text("done")

    app = AppTest.from_function(click)
    for name, value in (START | {"overview": {"chosen": {"revision": 1, "value": chosen}}}).items():
        app.session_state[name] = value
    app.run()
    assert not app.exception
    return {name: app.session_state[name] for name in START}


def test_a_click_chooses_a_head():
    chosen = {"attention": "decoder", "layer": 0, "head": 3}
    assert after_click(chosen) == chosen


@pytest.mark.parametrize(
    "chosen",
    [
        None,
        "decoder",
        [],
        {},
        {"attention": "decoder"},
        {"attention": "<b>", "layer": 0, "head": 0},
        {"attention": "decoder", "layer": -1, "head": 0},
        {"attention": "decoder", "layer": "0", "head": 0},
        {"attention": "decoder", "layer": 0, "head": 1.5},
        {"attention": "decoder", "layer": True, "head": 0},
        {"attention": ["decoder"], "layer": 0, "head": 0},
    ],
)
def test_a_click_that_makes_no_sense_chooses_nothing(chosen: Any):
    assert after_click(chosen) == START


@given(st.text(max_size=3000))
def test_a_clean_text_is_one_line_that_can_be_sent(text: str):
    cleaned = clean(text)
    assert len(cleaned) <= MAX_CHARACTERS
    assert cleaned == cleaned.strip()
    assert not any(unicodedata.category(letter) in ("Cc", "Cs") for letter in cleaned)
    cleaned.encode()
    assert clean(cleaned) == cleaned


def test_clean_keeps_what_can_be_seen():
    assert clean("  L'animal\tn'a\r\npas\u0000 traversé 🙂 ") == "L'animal n'a pas traversé 🙂"
