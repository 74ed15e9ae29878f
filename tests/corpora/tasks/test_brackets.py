"""The corpus of brackets."""

import re
from collections.abc import Callable

from transformer_core.corpora import Corpus
from transformer_core.corpora.tasks.brackets import MAX_LENGTH, MAX_OPEN, close


def what_stays(text: str) -> str:
    """What is left when pairs that close are taken away, again and again."""
    shorter = re.sub(r"\(\)|\[\]|\{\}|<>", "", text)
    return text if shorter == text else what_stays(shorter)


def test_everything_is_closed_and_nothing_besides(sample: Callable[[str], Corpus]) -> None:
    for pair in (*sample("brackets").train[::5], *sample("brackets").held_out):
        still_open = what_stays(pair.source)
        assert set(still_open) <= set("([{<")
        assert what_stays(pair.source + pair.target) == ""
        assert len(pair.target) == len(still_open) <= MAX_OPEN


def test_each_closing_bracket_is_aligned_with_the_one_that_it_closes(sample: Callable[[str], Corpus]) -> None:
    for pair in sample("brackets").held_out:
        for i, sources in enumerate(pair.alignment):
            (place,) = sources
            assert what_stays(pair.source[place:] + pair.target[: i + 1]) == ""
            assert what_stays(pair.source[place + 1 :] + pair.target[:i]) == ""


def test_by_hand() -> None:
    pair = close("<<[()]{")
    assert (pair.target, pair.alignment) == ("}>>", ((6,), (1,), (0,)))


def test_all_lengths_and_depths_occur_and_pairs_closed_already(sample: Callable[[str], Corpus]) -> None:
    pairs = sample("brackets").train
    assert {len(pair.source) for pair in pairs} >= set(range(3, MAX_LENGTH + 1))
    assert {len(pair.source) for pair in pairs} <= set(range(1, MAX_LENGTH + 1))
    assert {len(pair.target) for pair in pairs} == set(range(1, MAX_OPEN + 1))
    assert sum(len(pair.source) > len(pair.target) for pair in pairs) > 0.7 * len(pairs)
