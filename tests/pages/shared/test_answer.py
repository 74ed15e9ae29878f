"""What the model says beside the text: its words and how probable they are."""

import math
from types import SimpleNamespace
from typing import Any

import pytest

from pages.shared import answer


def test_no_probability_looks_like_zero():
    words = ["0.99", "0.01", "below 0.01", "below 0.01"]
    assert [answer.probability(value) for value in (0.994, 0.005, 0.00499, 0.0)] == words


@pytest.mark.parametrize(
    ("output", "is_complete", "words"),
    [
        *((" and the dog.", False, "… and the dog."), ("caf\ufffd\ufffd", False, "… caf")),  # the limit cut a letter
        *(("", True, "(end of sequence)"), (" \n", True, "… ·↵"), ("", False, "… "), ("end.", True, "… end.")),
    ],
)
def test_a_continuation_goes_on_from_three_dots(output: str, is_complete: bool, words: str):
    assert answer._going_on(SimpleNamespace(output=output, is_complete=is_complete)) == words  # type: ignore[arg-type]


def test_without_a_target_nothing_is_said_of_its_probability():
    def run(mean: float) -> Any:
        return SimpleNamespace(mean_probability=mean)

    assert answer._mean_probability(run(math.nan)) == "" == answer._probability_line(run(math.nan))
    assert "0.25" in answer._mean_probability(run(0.25)) and "0.25" in str(answer._probability_line(run(0.25)))
