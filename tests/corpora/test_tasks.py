"""The tasks copy and reverse."""

import pytest

import transformer_core as tc
from transformer_core.corpora import load_corpus
from transformer_core.corpora.tasks import LETTERS, MAX_LETTERS, MIN_LETTERS, N_HELD_OUT, N_TRAIN


@pytest.mark.parametrize("name", ["copy", "reverse"])
def test_the_parts_are_as_large_as_said_and_disjoint(name: str) -> None:
    corpus = load_corpus(name)
    assert (len(corpus.train), len(corpus.held_out)) == (N_TRAIN, N_HELD_OUT)
    sources = {pair.source for pair in corpus.train + corpus.held_out}
    assert len(sources) == N_TRAIN + N_HELD_OUT
    assert {len(source) for source in sources} == set(range(MIN_LETTERS, MAX_LETTERS + 1))
    assert {letter for source in sources for letter in source} == set(LETTERS)


def test_copy_repeats_and_reverse_turns_round() -> None:
    assert all(pair.target == pair.source for pair in load_corpus("copy").train)
    for pair in load_corpus("reverse").train:
        assert all(pair.target[-1 - i] == letter for i, letter in enumerate(pair.source))


@pytest.mark.parametrize("name", ["copy", "reverse"])
def test_the_seed_decides(name: str) -> None:
    assert load_corpus(name, seed=3) == load_corpus(name, seed=3)
    assert load_corpus(name, seed=3).fingerprint != load_corpus(name, seed=4).fingerprint


@pytest.mark.parametrize("name", ["copy", "reverse"])
def test_the_tokenizer_gives_every_text_back(name: str) -> None:
    corpus = load_corpus(name)
    texts = [text for pair in corpus.train for text in (pair.source, pair.target)]
    tokenizer = tc.train_tokenizer(texts, kind=corpus.tokenizer_kind)
    for text in [*texts[:2000], *corpus.examples]:
        assert tokenizer.decode(tokenizer.encode(text)) == text
