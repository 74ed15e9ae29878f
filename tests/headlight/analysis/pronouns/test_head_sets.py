"""The search for the smallest set of heads, against trying every set there is."""

from itertools import chain, combinations

import pytest

from headlight.analysis.heads.measures import HeadName
from headlight.analysis.pronouns.head_sets import Heads, Score, random_sets, smallest_set

HEADS = tuple(HeadName("encoder", layer, head) for layer in range(2) for head in range(4))
A, B, C, D = HEADS[1], HEADS[4], HEADS[6], HEADS[7]


def any_of(*sets: Heads) -> Score:
    """All flips if one of these sets is patched, none if not; more heads of theirs are better."""

    def score(heads: Heads) -> tuple[float, float]:
        return float(any(set(one) <= set(heads) for one in sets)), float(len({*chain(*sets)} & {*heads}))

    return score


def by_trying_all(score: Score) -> list[Heads]:
    for size in range(1, len(HEADS) + 1):
        if enough := [heads for heads in combinations(HEADS, size) if score(heads)[0] >= 0.9]:
            return enough
    return []


@pytest.mark.parametrize(
    "score",
    [any_of((A,)), any_of((B,), (C,)), any_of((A, C)), any_of((A, B), (C, D)), any_of((A, B, D)), any_of((A, B, C, D))],
)
def test_the_smallest_set_is_one_of_those_found_by_trying_all(score: Score):
    found = smallest_set(HEADS, score, at_least=0.9, most_sets=70)
    assert found is not None
    expected = by_trying_all(score)
    assert found.heads in expected
    assert list(found.equally_small) == expected
    assert found.n_checked == len(found.heads)


def test_what_is_not_tried_in_full_is_not_said_to_be_the_smallest():
    score = any_of((A, B, C))
    found = smallest_set(HEADS, score, at_least=0.9, most_sets=28)  # all sets of two, not all of three
    assert found is not None
    assert (found.heads, found.n_checked, found.equally_small) == ((A, B, C), 2, ())

    greedy = smallest_set(HEADS, score, at_least=0.9, most_sets=0)
    assert greedy is not None
    assert (greedy.heads, greedy.n_checked, greedy.equally_small) == ((A, B, C), 0, ())


@pytest.mark.parametrize("most_sets", [0, 8, 100])
def test_where_no_set_is_enough_there_is_none(most_sets: int):
    def never(heads: Heads) -> tuple[float, float]:
        return 0.85, 0.0

    assert smallest_set(HEADS, never, at_least=0.9, most_sets=most_sets) is None


def test_random_sets_are_different_and_the_same_for_a_seed():
    drawn = random_sets(HEADS, 3, 50)
    assert len({*drawn}) == 50
    assert all(len({*heads}) == 3 and list(heads) == sorted(heads, key=HEADS.index) for heads in drawn)
    assert drawn == random_sets(HEADS, 3, 50)
    assert drawn != random_sets(HEADS, 3, 50, seed=1)
    assert {*chain(*drawn)} == {*HEADS}
    assert random_sets(HEADS, 1, 50) == tuple((head,) for head in HEADS)
