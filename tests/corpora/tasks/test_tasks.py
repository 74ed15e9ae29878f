"""The tasks copy, reverse and sort."""

from collections.abc import Callable
from itertools import islice

import pytest

import transformer_core as tc
from transformer_core.corpora import Corpus
from transformer_core.corpora.tasks.tasks import LETTERS, MAX_LETTERS, MIN_LETTERS, N_HELD_OUT, N_TRAIN, pair_of

NAMES = ["copy", "reverse", "sort"]


@pytest.mark.parametrize("name", NAMES)
def test_the_parts_are_as_large_as_said(name: str, made: Callable[[str], Corpus]) -> None:
    corpus = made(name)
    assert (len(corpus.train), len(corpus.held_out)) == (N_TRAIN, N_HELD_OUT)
    sources = {pair.source for pair in (*corpus.train, *corpus.held_out)}
    assert {len(source) for source in sources} == set(range(MIN_LETTERS, MAX_LETTERS + 1))
    assert {letter for source in sources for letter in source} == set(LETTERS)


def test_copy_repeats_and_reverse_turns_round(made: Callable[[str], Corpus]) -> None:
    for pair in made("copy").train:
        assert pair.target == pair.source
        assert pair.alignment == tuple((i,) for i in range(len(pair.source)))
    for pair in made("reverse").train:
        assert all(pair.target[-1 - i] == letter for i, letter in enumerate(pair.source))
        assert [place for (place,) in pair.alignment] == list(range(len(pair.source) - 1, -1, -1))


def test_sort_puts_into_order_and_equal_letters_keep_theirs(made: Callable[[str], Corpus]) -> None:
    for pair in made("sort").train[::10]:
        in_order = "".join(letter * pair.source.count(letter) for letter in LETTERS)
        assert pair.target == in_order
        places = [place for (place,) in pair.alignment]
        assert sorted(places) == list(range(len(pair.source)))
        assert "".join(pair.source[place] for place in places) == in_order
        for letter in set(pair.source):
            of_letter = [place for place in places if pair.source[place] == letter]
            assert of_letter == sorted(of_letter)


@pytest.mark.parametrize("name", NAMES)
def test_the_tokenizer_gives_every_text_back(name: str, made: Callable[[str], Corpus]) -> None:
    corpus = made(name)
    tokenizer = tc.train_tokenizer(islice(corpus.training_texts(), 2000), kind=corpus.tokenizer_kind)
    for text in [*(pair.source for pair in corpus.held_out[:200]), *corpus.examples]:
        assert tokenizer.decode(tokenizer.encode(text)) == text


def test_a_pair_can_be_made_of_any_letters(made: Callable[[str], Corpus]) -> None:
    for name, target in (("copy", "pabapoc"), ("reverse", "copabap"), ("sort", "aabcopp")):
        assert pair_of(name, "pabapoc").target == target
        for pair in made(name).held_out[:50]:
            again = pair_of(name, pair.source)
            assert (again, again.alignment) == (pair, pair.alignment)
