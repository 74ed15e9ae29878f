"""The view's state: what a click may set, what a text becomes, and what reads it."""

import unicodedata
from pathlib import Path
from typing import Any

import pytest
import streamlit
from hypothesis import given
from hypothesis import strategies as st

from pages.shared import models
from pages.shared.view import long_texts, state
from pages.shared.view.long_texts import MAX_CHARACTERS, clean
from transformer_core.analysis.interventions.records import Ablation, Component, Stack
from transformer_core.analysis.interventions.stack_json import to_json

START = {"attention": "cross", "layer": 1, "head": 0}


HEAD = {"attention": "decoder", "layer": 0, "head": 3}


@pytest.mark.parametrize(
    "chosen",
    [
        *(HEAD, None, "decoder", [], {"attention": "decoder"}, HEAD | {"attention": "<b>"}, HEAD | {"layer": -1}),
        *(HEAD | {"layer": "0"}, HEAD | {"head": 1.5}, HEAD | {"layer": True}, HEAD | {"attention": ["decoder"]}),
    ],
)
def test_a_click_chooses_a_head_or_nothing(chosen: Any, monkeypatch: pytest.MonkeyPatch):
    session = START | {"overview": {"chosen": {"revision": 1, "value": chosen}}}
    monkeypatch.setattr(streamlit, "session_state", session)
    state.on_head()
    assert {name: session[name] for name in START} == (HEAD if chosen is HEAD else START)


def test_a_text_is_read_with_the_stack_on_that_text_and_its_target(three_kinds_here: Path):
    """The stack is applied to the text that is read: to its target as well."""
    off = Ablation(component=Component(kind="head", attention="cross", layer=1, heads=(2,)), method="zero")
    stack = to_json(Stack(entries=(off,)))
    view = state.View("en-fr", "The cat.", "Le chat", "cross", 1, 2, "cpu", "bfloat16", True, stack)
    card = models.available()["en-fr"]
    source = view.source(card, continues=False)
    assert (source.stack, source.text) == (stack, ("The cat.", "Le chat"))
    assert (source.path, source.version, source.precision, source.continues) == (
        *(card.path, card.version),
        *("bfloat16", False),
    )
    unchanged = view.source(card, is_changed=False)
    assert (unchanged.stack, unchanged.text, unchanged.continues) == ("", ("", None), True)


@given(st.text(max_size=3000))
def test_a_clean_text_is_one_line_that_can_be_sent(text: str):
    cleaned = clean(text)
    assert len(cleaned) <= MAX_CHARACTERS
    assert cleaned == cleaned.strip()
    assert not any(unicodedata.category(letter) in ("Cc", "Cs") for letter in cleaned)
    cleaned.encode()
    assert clean(cleaned) == cleaned


def test_clean_keeps_what_can_be_seen_and_lines_where_a_text_has_several():
    assert clean("  L'animal\tn'a\r\npas\u0000 traversé 🙂 ") == "L'animal n'a pas traversé 🙂"
    text, cleaned = "a  =\tb\n\n# c\x00d\r\n", "a = b\n\n# c d\n"
    for address in ({"source": text}, {"packed-source": long_texts.packed(text)}):
        assert long_texts.asked("source", address, has_lines=True) == cleaned
    assert long_texts.asked("source", {"source": "\n" * 40_000}, has_lines=True) == "\n" * MAX_CHARACTERS
    assert long_texts.asked("source", {"source": text}) == "a = b # c d"
