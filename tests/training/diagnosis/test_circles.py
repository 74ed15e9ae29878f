"""Repetition, against naive counting and by hand."""

import random

import pytest

from tests.training.diagnosis.records import said
from transformer_core.training.diagnosis import Sample
from transformer_core.training.diagnosis.circles import are_mostly_circles, circles, in_circles

PROSE = "One day the fox met a hare by the old bridge, and they spoke of the snow that was to come before night fell."


def naive_loop(units: list[str]) -> int:
    """Length of the longest stretch of one piece said three times or more, by trying every stretch and period."""
    longest = 0
    for start in range(len(units)):
        for end in range(start + 3, len(units) + 1):
            stretch = units[start:end]
            for period in range(1, len(stretch) // 3 + 1):
                if all(stretch[i] == stretch[i - period] for i in range(period, len(stretch))):
                    longest = max(longest, len(stretch))
    return longest


def test_loops_as_a_naive_search_finds_them():
    draw = random.Random(0)
    n_looped = 0
    for _ in range(60):
        units = [draw.choice("ab") for _ in range(draw.randint(8, 16))]
        found = circles(" ".join(units))
        assert found.looped == pytest.approx(naive_loop(units) / len(units))
        n_looped += found.looped > 0
    assert n_looped > 0


def test_repeated_groups_by_hand():
    text = (
        "the cat sat on the cat sat by the cat"  # groups: the cat sat, cat sat on, ..., 8 in all, "the cat sat" twice
    )
    assert circles(text).repeated == pytest.approx(1 / 8)
    assert circles(text).looped == 0.0
    assert not circles(text).is_most


@pytest.mark.parametrize(
    ("text", "piece"),
    [
        ("the " * 20, "the"),
        ("Once there was a fox, and then " + "he went home and " * 12, "he went home and"),
        ("a" * 40, "a"),
        ("19761976197619761976", "1976"),
        ("雨が降る" * 8, "雨が降る"),
    ],
)
def test_a_text_in_circles(text: str, piece: str):
    found = circles(text)
    assert found.is_most
    assert sorted(found.piece.split() or found.piece) == sorted(piece.split() or piece)  # begun anywhere in its round


@pytest.mark.parametrize(
    "text", ["", "   ", "no", "no no no no", "1976-07-04", "2000-10-10", PROSE, "thecatsatonthematandthecatranoff"]
)
def test_a_text_that_is_not_in_circles(text: str):
    assert not circles(text).is_most


def test_a_long_text_is_judged_by_its_end():
    beginning = " ".join(str(i) for i in range(5000))
    assert not circles(beginning).is_most
    assert circles(beginning + " and so on" * 500).is_most


def test_most_outputs_must_run_in_circles():
    assert are_mostly_circles(said("la " * 20, PROSE))
    assert not are_mostly_circles(said("la " * 20, PROSE, PROSE))
    assert not are_mostly_circles([])
    assert not are_mostly_circles(said("", ""))


def test_a_text_that_is_in_circles_by_rights_does_not_count():
    song = "la " * 20
    assert in_circles([Sample(given="sing", output=song, reference=song)]) == []
    assert in_circles([Sample(given=song, output=song)]) == []
    assert len(in_circles([Sample(given="sing", output=song, reference=PROSE)])) == 1
