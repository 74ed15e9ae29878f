"""The tasks copy, reverse and sort."""

from collections.abc import Callable

import pytest

from transformer_core.corpora import Corpus
from transformer_core.corpora.tasks.tasks import LETTERS, MAX_LETTERS, MIN_LETTERS, pair_of

NAMES = ["copy", "reverse", "sort"]


def test_copy_repeats_and_reverse_turns_round(sample: Callable[[str], Corpus]) -> None:
    sources = {pair.source for name in NAMES for pair in sample(name).train}
    assert {len(source) for source in sources} == set(range(MIN_LETTERS, MAX_LETTERS + 1))
    assert {letter for source in sources for letter in source} == set(LETTERS)
    for pair in sample("copy").train:
        assert pair.target == pair.source
        assert pair.alignment == tuple((i,) for i in range(len(pair.source)))
    for pair in sample("reverse").train:
        assert all(pair.target[-1 - i] == letter for i, letter in enumerate(pair.source))
        assert [place for (place,) in pair.alignment] == list(range(len(pair.source) - 1, -1, -1))


def test_sort_puts_into_order_and_equal_letters_keep_theirs(sample: Callable[[str], Corpus]) -> None:
    for pair in sample("sort").held_out:
        in_order = "".join(letter * pair.source.count(letter) for letter in LETTERS)
        assert pair.target == in_order
        places = [place for (place,) in pair.alignment]
        assert sorted(places) == list(range(len(pair.source)))
        assert "".join(pair.source[place] for place in places) == in_order
        for letter in set(pair.source):
            of_letter = [place for place in places if pair.source[place] == letter]
            assert of_letter == sorted(of_letter)


@pytest.mark.parametrize(("name", "target"), [("copy", "pabapoc"), ("reverse", "copabap"), ("sort", "aabcopp")])
def test_a_pair_can_be_made_of_any_letters(name: str, target: str) -> None:
    assert pair_of(name, "pabapoc").target == target
