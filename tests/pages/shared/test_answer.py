"""What the model says beside the text: its words and how probable they are."""

from types import SimpleNamespace

import pytest

from pages.shared import answer


def test_no_probability_looks_like_zero():
    words = ["0.99", "0.01", "below 0.01", "below 0.01"]
    assert [answer.probability(value) for value in (0.994, 0.005, 0.00499, 0.0)] == words


@pytest.mark.parametrize(
    ("output", "is_complete", "words"),
    [
        *((" and the dog.", False, "… and the dog."), ("caf\ufffd\ufffd", False, "… caf")),  # the limit cut a letter
        *(("  ", True, "(end of sequence)"), ("", False, "… "), ("end.", True, "… end.")),
    ],
)
def test_a_continuation_goes_on_from_three_dots(output: str, is_complete: bool, words: str):
    assert answer._going_on(SimpleNamespace(output=output, is_complete=is_complete)) == words  # type: ignore[arg-type]
