"""The view of the Masks page: edits as an address holds them, and what a person's acts make of them."""

from collections.abc import Iterator
from itertools import product

import pytest
import streamlit as st
from hypothesis import given, settings, strategies

from pages.learn.masks import view_fields
from pages.shared.view import state
from pages.shared.view.fields import fill, written
from tests.model.building import DECODER, odd_config

CELLS = strategies.sets(strategies.tuples(strategies.integers(0, 47), strategies.integers(0, 47)), max_size=80)


@pytest.fixture(autouse=True)
def session(monkeypatch: pytest.MonkeyPatch) -> None:
    """The decoder's attention, of a text that was read before."""
    monkeypatch.setattr(st, "session_state", {state.ATTENTION.key: "decoder"})
    view_fields.fit("a text", 9, 9)


@settings(max_examples=30)
@given(CELLS)
def test_edits_come_back_from_the_address_as_they_were(cells: set[tuple[int, int]]):
    field = view_fields.EDITS
    assert field.read(field.write(cells)) == tuple(sorted(cells)) if cells else field.write(cells) == ""


def test_neighbours_are_written_as_one():
    assert view_fields.EDITS.write({(query, key) for query in (3, 4, 5) for key in (4, 5, 6, 7)}) == "3-5.4-7"
    assert view_fields.EDITS.write({(3, 4), (3, 6), (9, 0)}) == "3.4~3.6~9.0"


@pytest.mark.parametrize("text", ["3", "a.b", "3-.4", "~", "999.1"])
def test_what_is_no_edit_is_refused_in_a_sentence(text: str):
    (note,) = fill([view_fields.EDITS], {"edits": text})
    assert "the format is queries, a dot and keys" in note
    assert view_fields.EDITS.value == ()


@pytest.mark.parametrize(
    ("name", "text"),
    [("preset", "x"), ("size", "65"), ("padding", "9"), ("dropout", "0.95"), ("seed", "-1")],
)
def test_the_address_is_checked(name: str, text: str):
    (note,) = fill(view_fields.FIELDS, {name: text})
    assert name in note and "it " in note
    assert written(view_fields.FIELDS) == {}


def test_another_preset_attention_or_text_has_no_edits():
    for act in (
        lambda: view_fields.choose_preset("window", odd_config()),
        lambda: view_fields.choose_attention("cross"),
        lambda: view_fields.fit("another text", 9, 9),
    ):
        view_fields.turn([10, 12], 9)
        assert view_fields.EDITS.value == ((1, 1), (1, 3))
        act()
        assert view_fields.EDITS.value == ()
    view_fields.turn([10], 9)
    view_fields.choose_attention(st.session_state[state.ATTENTION.key])
    assert view_fields.EDITS.value == ((1, 1),)


def test_an_address_with_too_many_cells_is_refused_before_they_are_visited(monkeypatch: pytest.MonkeyPatch):
    """Each part is short, and names 10,000 cells; 20 kB of them would be some 20 million."""
    visited = 0

    def counting(*ranges: range) -> Iterator[tuple[int, ...]]:
        nonlocal visited
        for cell in product(*ranges):
            visited += 1
            yield cell

    monkeypatch.setattr(view_fields, "product", counting)
    address = "~".join(["0-99.0-99"] * 2000)
    assert len(address) > 19_000
    (note,) = fill([view_fields.EDITS], {"edits": address})
    assert "at most 4,096 cells" in note and visited <= 64 * 64
    assert view_fields.EDITS.value == ()
    assert not fill([view_fields.EDITS], {"edits": "0-63.0-63"})
    assert len(view_fields.EDITS.value) == 64 * 64


def test_a_preset_that_shows_another_attention_says_so_and_gives_the_chosen_one_back():
    for preset in ("cross", "forgotten", "cross"):
        view_fields.choose_preset(preset, odd_config())
        assert st.session_state[state.ATTENTION.key] == "cross" and view_fields.moved_from() == "decoder"
    view_fields.choose_preset("window", odd_config())
    assert st.session_state[state.ATTENTION.key] == "decoder" and view_fields.moved_from() is None
    view_fields.choose_preset("cross", odd_config())
    view_fields.choose_attention("decoder")
    view_fields.choose_preset("padding", odd_config(**DECODER))
    assert st.session_state[state.ATTENTION.key] == "decoder" and view_fields.moved_from() is None


def test_what_is_no_preset_changes_nothing_and_edits_beyond_the_text_are_left_out():
    view_fields.EDITS.set(((2, 2), (8, 9), (9, 8)))
    view_fields.choose_preset("x", odd_config())
    view_fields.choose_preset(None, odd_config())
    view_fields.fit("a text", 9, 9)
    assert view_fields.EDITS.value == ((2, 2),) and view_fields.PRESET.value == "own"


def test_a_link_to_another_text_keeps_its_edits(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(state, "came_by_link", lambda: True)
    view_fields.turn([10], 9)
    view_fields.fit("another text", 9, 9)
    assert view_fields.EDITS.value == ((1, 1),)
