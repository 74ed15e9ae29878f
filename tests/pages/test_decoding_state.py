"""The branches of the page Decoding: how they stand in the address, and what a person's acts make of them."""

import pytest
import streamlit as st
from hypothesis import given, strategies

from pages.shared import decoding_state
from pages.shared.decoding_state import Branch
from pages.shared.fields import fill, written

TOKENS = strategies.lists(strategies.integers(0, 99_999), max_size=20)


@pytest.fixture(autouse=True)
def session(monkeypatch: pytest.MonkeyPatch) -> None:
    """One branch of five tokens that was written by the model, after the third of which one looks."""
    monkeypatch.setattr(st, "session_state", {})
    decoding_state.fit("a text")
    decoding_state.drawn([(5, 6, 7, 8, 2)], 3)


def test_a_fork_leaves_what_was_written_a_branch_of_its_own():
    decoding_state.fork([9])
    assert decoding_state.BRANCHES.value == (Branch(), Branch((5, 6, 7, 9), forced=(3,)))
    assert (decoding_state.BRANCH.value, decoding_state.STEP.value) == (1, 4)
    assert written(decoding_state.FIELDS)["branches"] == "~5.6.7.!9"


def test_a_fork_into_what_there_is_goes_there():
    decoding_state.fork([8])
    assert decoding_state.BRANCHES.value == (Branch(),)
    assert (decoding_state.BRANCH.value, decoding_state.STEP.value) == (0, 4)


def test_other_settings_leave_what_was_written_up_to_here():
    decoding_state.set_sampling({decoding_state.TEMPERATURE: 0.7, decoding_state.SEED: 4})
    assert decoding_state.BRANCHES.value == (Branch((5, 6, 7)),)
    assert decoding_state.sampling().temperature == 0.7
    assert decoding_state.sampling().seed == 4
    decoding_state.fork([9, 10])
    decoding_state.go_to(2)
    decoding_state.drawn([(5, 6, 7, 8, 2), (5, 6, 7, 9, 10, 11)], 2)
    decoding_state.set_sampling({decoding_state.TOP_K: 3})
    assert decoding_state.BRANCHES.value[1] == Branch((5, 6, 7, 9, 10), forced=(3, 4))  # it was led there by hand


def test_going_on_asks_for_more_and_the_limit_can_be_moved():
    decoding_state.go_on(8)
    assert (decoding_state.STEP.value, decoding_state.LENGTH.value) == (11, 11)
    before = decoding_state.LIMIT.value
    decoding_state.allow_more()
    assert decoding_state.LIMIT.value == before + decoding_state.LIMIT_STEP


def test_another_text_forgets_it_all_and_the_same_one_does_not():
    decoding_state.fork([9])
    decoding_state.fit("a text")
    assert len(decoding_state.BRANCHES.value) == 2
    decoding_state.fit("another text")
    assert decoding_state.BRANCHES.value == (Branch(),)
    assert decoding_state.STEP.value is None


def test_branches_have_an_end():
    for token in range(50):
        decoding_state.go_to(0)
        decoding_state.drawn([branch.tokens for branch in decoding_state.BRANCHES.value], 0)
        decoding_state.fork([100 + token])
        assert decoding_state.made_room() == (token >= decoding_state.MOST_BRANCHES - 1)  # the first one was there
        assert not decoding_state.made_room()
    assert len(decoding_state.BRANCHES.value) == decoding_state.MOST_BRANCHES
    decoding_state.BRANCH.set(3)
    decoding_state.without(3)
    assert len(decoding_state.BRANCHES.value) == decoding_state.MOST_BRANCHES - 1
    assert decoding_state.BRANCH.value == 0
    decoding_state.start_again()
    assert written(decoding_state.FIELDS) == {"step": "0"}


@given(strategies.lists(strategies.tuples(TOKENS, strategies.sets(strategies.integers(0, 19))), min_size=1, max_size=9))
def test_branches_are_read_as_they_are_written(drawn: list[tuple[list[int], set[int]]]):
    branches = tuple(
        dict.fromkeys(
            Branch(tuple(tokens), tuple(sorted(place for place in forced if place < len(tokens))))
            for tokens, forced in drawn
        )
    )
    address = decoding_state.BRANCHES.write(branches)
    assert fill([decoding_state.BRANCHES], {"branches": address}) == []
    assert decoding_state.BRANCHES.value == branches
