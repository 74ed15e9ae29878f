"""The branches of the Decoding page: how they stand in the address, and how clicks change them."""

from collections.abc import Sequence

import pytest
import streamlit as st
from hypothesis import given, strategies

from pages.explore.decoding import view_fields
from pages.explore.decoding.view_fields import Branch
from pages.shared.view.fields import fill, written

TOKENS = strategies.lists(strategies.integers(0, 99_999), max_size=20)


@pytest.fixture(autouse=True)
def session(monkeypatch: pytest.MonkeyPatch) -> None:
    """One branch of five tokens that was written by the model, after the third of which one looks."""
    monkeypatch.setattr(st, "session_state", {})
    view_fields.fit("a text")
    view_fields.drawn([(5, 6, 7, 8, 2)], 3, 0)


@pytest.mark.parametrize(("token", "is_new"), [(9, True), (8, False)])
def test_a_fork_is_a_branch_of_its_own_unless_the_text_goes_there(token: int, is_new: bool):
    view_fields.fork([token])
    forked = Branch((5, 6, 7, 9), forced=(3,))
    assert view_fields.BRANCHES.value == ((Branch(), forked) if is_new else (Branch(),))
    assert (view_fields.BRANCH.value, view_fields.STEP.value) == (int(is_new), 4)
    assert written(view_fields.FIELDS).get("branches", "") == ("~5.6.7.!9" if is_new else "")


def test_other_settings_leave_what_was_written_up_to_here():
    view_fields.set_sampling({view_fields.SAMPLING["temperature"]: 0.7, view_fields.SEED: 4})
    assert view_fields.BRANCHES.value == (Branch((5, 6, 7)),)
    assert view_fields.sampling().temperature == 0.7
    assert view_fields.sampling().seed == 4
    view_fields.fork([9, 10])
    view_fields.go_to(2)
    view_fields.drawn([(5, 6, 7, 8, 2), (5, 6, 7, 9, 10, 11)], 2, 0)
    view_fields.set_sampling({view_fields.SAMPLING["top_k"]: 3})
    assert view_fields.BRANCHES.value[1] == Branch((5, 6, 7, 9, 10), forced=(3, 4))  # it was led there by hand


def test_another_text_forgets_it_all_and_the_same_one_does_not():
    of_text = {
        view_fields.STEP: 2,
        view_fields.LENGTH: 9,
        view_fields.LIMIT: 400,
        view_fields.BRANCHES: (Branch(), Branch((5, 9))),
        view_fields.BRANCH: 1,
        view_fields.CONTINUATION: "and on",
        view_fields.FILLED: "3:5",
    }
    for field, value in (of_text | {view_fields.SEED: 4}).items():
        field.set(value)
    view_fields.fit("a text")
    assert all(field.value == value for field, value in of_text.items())
    view_fields.fit("another text")
    assert all(field.value == field.usual for field in of_text)
    assert view_fields.path() == () and view_fields.SEED.value == 4, "how tokens are sampled stays"


def test_branches_have_an_end():
    for token in range(50):
        view_fields.go_to(0)
        view_fields.drawn([branch.tokens for branch in view_fields.BRANCHES.value], 0, 1)
        view_fields.fork([100 + token])
        assert view_fields.MADE_ROOM.pop() == (token >= view_fields.MOST_BRANCHES - 1)  # the first one was there
    assert len(view_fields.BRANCHES.value) == view_fields.MOST_BRANCHES
    view_fields.BRANCH.set(3)
    view_fields.without(3)
    assert len(view_fields.BRANCHES.value) == view_fields.MOST_BRANCHES - 1
    assert view_fields.BRANCH.value == 0
    view_fields.start_again()
    assert written(view_fields.FIELDS) == {"step": "0"}


@given(strategies.lists(strategies.tuples(TOKENS, strategies.sets(strategies.integers(0, 19))), min_size=1, max_size=9))
def test_branches_are_read_as_they_are_written(drawn: list[tuple[list[int], set[int]]]):
    branches = tuple(
        dict.fromkeys(
            Branch(tuple(tokens), tuple(sorted(place for place in forced if place < len(tokens))))
            for tokens, forced in drawn
        )
    )
    address = view_fields.BRANCHES.write(branches)
    assert fill([view_fields.BRANCHES], {"branches": address}) == []
    assert view_fields.BRANCHES.value == branches


def test_what_is_chosen_stays_within_what_there_is():
    view_fields.fork([9])
    for field, wanted, kept in (
        *((view_fields.BRANCH, *pair) for pair in ((0, 0), (1, 1), (2, 1), (99, 1))),
        *((view_fields.N_BEAMS, *pair) for pair in ((0, 1), (1, 1), (8, 8), (9, 8))),
    ):
        field.set(wanted)
        view_fields.fit("a text")
        assert field.value == kept


def test_a_branch_is_deleted_and_no_other_and_never_the_first():
    branches = (Branch(), Branch((5, 9), forced=(1,)), Branch((5, 6, 9), forced=(2,)))
    for deleted, left in ((0, branches), (1, branches[::2]), (2, branches[:2]), (3, branches)):
        view_fields.BRANCHES.set(branches)
        view_fields.BRANCH.set(2)
        view_fields.without(deleted)
        assert view_fields.BRANCHES.value == left
        assert view_fields.BRANCH.value == (2 if left == branches else 0)


def test_a_fork_on_a_fork_keeps_what_was_chosen_by_hand_before_it_and_nothing_behind_it():
    view_fields.fork([9, 10])  # 5 6 7 !9 !10
    view_fields.drawn([(5, 6, 7, 8, 2), (5, 6, 7, 9, 10, 11)], 4, 0)
    view_fields.fork([12])
    assert view_fields.BRANCHES.value[2] == Branch((5, 6, 7, 9, 12), forced=(3, 4))
    assert (view_fields.BRANCH.value, view_fields.STEP.value) == (2, 5)
    view_fields.drawn([(5, 6, 7, 8, 2), (5, 6, 7, 9, 10, 11), (5, 6, 7, 9, 12, 2)], 2, 0)
    view_fields.fork([13])
    assert view_fields.BRANCHES.value[3] == Branch((5, 6, 13), forced=(2,))


def test_of_branches_that_begin_alike_the_one_that_is_looked_at_stays():
    view_fields.fork([9])
    view_fields.drawn([(5, 6, 7, 8, 2), (5, 6, 7, 9, 10)], 4, 0)
    for tokens, branch in (((5, 6), 1), ((5, 6, 7, 8), 0), ((5,), 0), ((5, 6, 7, 9, 10), 1), ((), 1)):
        view_fields.open_path(tokens)
        assert (view_fields.BRANCH.value, view_fields.STEP.value) == (branch, len(tokens))
    assert len(view_fields.BRANCHES.value) == 2


def test_no_step_lies_before_the_beginning_and_going_on_never_asks_for_less():
    view_fields.go_to(-3)
    assert view_fields.STEP.value == 0
    view_fields.LENGTH.set(40)
    view_fields.go_on(2)
    assert (view_fields.STEP.value, view_fields.LENGTH.value) == (2, 40)
    view_fields.go_on(50)
    assert (view_fields.STEP.value, view_fields.LENGTH.value) == (52, 52)
    view_fields.STEP.set(None)
    view_fields.allow_more()
    assert (view_fields.STEP.value, view_fields.LIMIT.value) == (1, 2 * view_fields.LIMIT_STEP)


@pytest.mark.parametrize(
    ("field", "taken", "refused"),
    [
        ("temperature", ("0", "0.001", "5"), ("0.0009", "5.01", "-1")),
        ("top_p", ("0.001", "1"), ("0",)),  # a share that keeps no token
        ("min_p", ("0",), ()),
    ],
)
def test_sampling_is_such_that_a_token_can_be_chosen(field: str, taken: Sequence[str], refused: Sequence[str]):
    for request in (*taken, *refused):
        assert (fill(view_fields.FIELDS, {field: request}) == []) == (request in taken)
