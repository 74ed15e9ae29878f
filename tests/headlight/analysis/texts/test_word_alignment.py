"""Links between what was written and what was read; by hand, by naive loops, and by the definition of the measure."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import transformer_core as tc
from grammars.en_fr.alignment import translate
from grammars.en_fr.examples import EXAMPLES
from headlight.analysis.texts.word_alignment import (
    KnownPairs,
    Links,
    alignment_error_rate,
    hard_alignment,
    known_alignment,
)
from transformer_core.corpora.corpus import Corpus, Pair
from transformer_core.errors import Message

PAIR = Pair("a b c", "C d a", ((2,), (), (0, 1)))
cells = st.frozensets(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=12)


@pytest.fixture(scope="module")
def words() -> tc.Tokenizer:
    return tc.train_tokenizer(["a b c d e"], kind="word")


@pytest.fixture(scope="module")
def pieces() -> tc.Tokenizer:
    """Parts of words: no word of the examples is one token."""
    return tc.train_tokenizer(["x"], kind="byte_bpe")


def test_each_token_is_linked_with_what_it_looks_at_most():
    weights = np.array([[0.1, 0.7, 0.2], [0.5, 0.5, 0.0], [0.0, 0.1, 0.9]])
    assert hard_alignment(weights) == {(0, 1), (1, 0), (2, 2)}
    assert hard_alignment(weights, sources=[(0,), (2,)]) == {(0, 1), (1, 0), (2, 1)}
    assert hard_alignment(weights, targets=[(2,)]) == {(0, 2)}
    assert hard_alignment(weights, sources=[]) == hard_alignment(weights[:0]) == frozenset()


@given(st.integers(0, 2**32 - 1))
def test_words_take_the_sum_over_their_sources_and_the_mean_over_their_targets(seed: int):
    weights = np.random.default_rng(seed).random((5, 6))
    targets, sources = [(0, 1), (2,), (3, 4)], [(1,), (2, 3, 4), (5,)]  # no unit has the first token of the source
    expected = set()
    for i, unit in enumerate(targets):
        of_sources = [sum(weights[t, s] for t in unit for s in source) / len(unit) for source in sources]
        expected.add((i, of_sources.index(max(of_sources))))
    assert hard_alignment(weights, targets=targets, sources=sources) == expected


@given(cells, cells, cells)
def test_the_error_rate_is_the_papers(links: Links, sure: Links, more: Links):
    score = alignment_error_rate(links, sure, more)
    possible = sure | more
    if not links | sure:
        assert math.isnan(score.error_rate)
        return
    both = sum(cell in sure for cell in links) + sum(cell in possible for cell in links)
    assert score.error_rate == pytest.approx(1 - both / (len(links) + len(sure)))
    if links and sure:
        assert score.precision * len(links) == pytest.approx(len(links & possible))
        assert score.recall * len(sure) == pytest.approx(len(links & sure))
    assert math.isnan(score.precision) == (not links) and math.isnan(score.recall) == (not sure)


def test_a_source_is_found_as_it_is_and_what_is_held_out_is_preferred():
    corpus = Corpus(
        name="x",
        title="X",
        description=Message(""),
        train=(PAIR, Pair("b", "b")),
        held_out=(Pair("c", "d"),),
        examples=(),
        tokenizer_kind="word",
    )
    pairs = KnownPairs(corpus)
    assert len(pairs) == 3
    actual = pairs.find("  a b c\n")
    assert actual is not None and actual.pair is PAIR and not actual.is_held_out
    other = pairs.find("c")
    assert other is not None and other.pair == Pair("c", "d") and other.is_held_out
    assert pairs.find("A b c") is None and pairs.find("") is None


def test_the_truth_grows_with_what_is_written(words: tc.Tokenizer):
    source = words.encode("a b c", eos=True)
    written = words.encode("c d a", eos=True)
    by_length = [known_alignment(PAIR, words, source, written[:n]) for n in range(5)]
    assert all(known is not None and not known.is_parted for known in by_length)
    links = [known.links for known in by_length if known is not None]
    assert links == [set(), {(0, 2)}, {(0, 2)}, {(0, 2), (2, 0), (2, 1)}, {(0, 2), (2, 0), (2, 1)}]
    whole = by_length[-1]
    assert whole is not None and whole.judged == (0, 2) and whole.n_written == whole.n_agreed == 3
    assert whole.cells(whole.links) == whole.links  # a token is a unit
    assert whole.least_error_rate == pytest.approx(1 - 2 * 2 / (2 + 3))
    nothing = by_length[0]
    assert nothing is not None and math.isnan(nothing.least_error_rate)


def test_where_something_else_is_written_nothing_is_known_any_more(words: tc.Tokenizer):
    source = words.encode("a b c", eos=True)
    known = known_alignment(PAIR, words, source, words.encode("c e a"))
    assert known is not None and known.is_parted
    assert (known.n_agreed, known.n_written) == (1, 3)
    assert known.links == {(0, 2)}
    longer = known_alignment(PAIR, words, source, words.encode("c d a b"))
    assert longer is not None and longer.is_parted and longer.judged == (0, 2)


def test_a_head_is_judged_by_what_it_finds_among_the_words(words: tc.Tokenizer):
    """What rests on <eos> is not counted: the largest weight on a word is."""
    source = words.encode("a b c", eos=True)
    known = known_alignment(PAIR, words, source, words.encode("c d a"))
    assert known is not None
    weights = np.array([[0.1, 0.0, 0.2, 0.7], [1.0, 0.0, 0.0, 0.0], [0.0, 0.3, 0.1, 0.6], [0.25, 0.25, 0.25, 0.25]])
    assert known.links_of(weights) == {(0, 2), (2, 1)}
    score = known.score(weights)
    assert score.precision == 1
    assert score.recall == pytest.approx(2 / 3)
    assert score.error_rate == pytest.approx(known.least_error_rate)


def test_nothing_is_known_of_other_units(words: tc.Tokenizer):
    source = words.encode("a b c")
    assert known_alignment(Pair("a b c", "c d a"), words, source, []) is None
    assert known_alignment(Pair("a b c", "c d a", ((0,), (1,))), words, source, []) is None  # a unit is missing
    assert known_alignment(Pair("a b c", "c d a", ((0,), (1,), (3,))), words, source, []) is None  # no such source


@pytest.mark.parametrize("place", [0, 3, 8])
def test_words_of_several_tokens_are_judged_as_words(pieces: tc.Tokenizer, place: int):
    """By the words of the corpus itself, each with all its tokens; a word counts when its last token is there."""
    pair = translate(EXAMPLES[place])
    assert pair.alignment is not None
    source, target = pieces.encode(pair.source, eos=True), pieces.encode(pair.target, eos=True)
    known = known_alignment(pair, pieces, source, target)
    assert known is not None and len(known.targets) == len(pair.alignment)
    assert known.links == {(unit, key) for unit, keys in enumerate(pair.alignment) for key in keys}
    first = known.targets[0]
    assert pair.target.startswith(pieces.decode([target[i] for i in first])) and len(first) > 1
    expanded = known.cells(known.links)
    assert len(expanded) == sum(len(known.targets[t]) * len(known.sources[s]) for t, s in known.links)
    weights = np.zeros((len(target), len(source)))
    for row, column in expanded:
        weights[row, column] = 1
    assert known.score(weights).precision == 1
    part = known_alignment(pair, pieces, source, target[: first[-1]])
    assert part is not None and not part.judged
