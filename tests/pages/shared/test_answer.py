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


def test_each_of_the_first_blanks_has_a_line_of_candidates():
    one, other = SimpleNamespace(label="<cat>", probability=0.5), SimpleNamespace(label="dog", probability=0.001)
    blanks = (SimpleNamespace(candidates=(one, other)),) + (SimpleNamespace(candidates=(other,)),) * answer.MAX_BLANKS
    lines = str(answer._candidates(blanks)).split("<div>")
    assert len(lines) == 1 + answer.MAX_BLANKS
    assert "<bdi>&lt;cat&gt;</bdi> 0.50" in lines[1] and "<bdi>dog</bdi> below 0.01" in lines[1]
    assert "cat" not in lines[2]
