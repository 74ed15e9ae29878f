"""Batches: nothing lost, nothing twice, shifted right, little padding, and the same again from a position."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from transformer_core.corpora.batching import Batch, BatchPosition, EncodedPairs, PairBatches
from transformer_core.corpora.corpus import Pair
from transformer_core.errors import CorpusError
from transformer_core.text.tokenizer import Tokenizer, train_tokenizer

PAD, BOS, EOS = 0, 1, 2
LETTERS = "abcdefgh"


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer([" ".join(LETTERS)], kind="word")


def some_pairs(lengths: list[tuple[int, int]], seed: int = 0) -> list[Pair]:
    random = np.random.default_rng(seed)

    def text(n: int) -> str:
        return " ".join(random.choice(list(LETTERS), size=n))

    return [Pair(text(n_source), text(n_target)) for n_source, n_target in lengths]


Row = tuple[int, ...]


def without_padding(row: list[int]) -> Row:
    """A row without its padding, which must lie at its end."""
    n_tokens = sum(token != PAD for token in row)
    assert set(row[n_tokens:]) <= {PAD}
    return tuple(row[:n_tokens])


def rows_of(batch: Batch) -> list[tuple[Row, Row, Row]]:
    return [
        (without_padding(src), without_padding(tgt_in), without_padding(tgt_out))
        for src, tgt_in, tgt_out in zip(*(tokens.tolist() for tokens in batch), strict=True)
    ]


def test_one_batch_by_hand(tokenizer: Tokenizer):
    a, b, c = (tokenizer.encode(letter)[0] for letter in "abc")
    pairs = EncodedPairs([Pair("a b", "c"), Pair("c", "b a c")], tokenizer, max_seq_len=8)
    batch = pairs.batch(np.array([0, 1]))
    assert batch.src.tolist() == [[a, b, EOS], [c, EOS, PAD]]
    assert batch.tgt_in.tolist() == [[BOS, c, PAD, PAD], [BOS, b, a, c]]
    assert batch.tgt_out.tolist() == [[c, EOS, PAD, PAD], [b, a, c, EOS]]
    assert {tokens.dtype for tokens in batch} == {torch.int64}


@given(
    st.lists(st.tuples(st.integers(1, 7), st.integers(1, 7)), min_size=1, max_size=40),
    st.integers(1, 9),
    st.integers(0, 99),
)
def test_an_epoch_holds_each_pair_once(
    tokenizer: Tokenizer, lengths: list[tuple[int, int]], batch_size: int, seed: int
):
    pairs = some_pairs(lengths, seed)
    batches = PairBatches(EncodedPairs(pairs, tokenizer, max_seq_len=8), batch_size=batch_size, seed=seed)
    expected = Counter(
        (
            (*tokenizer.encode(pair.source), EOS),
            (BOS, *tokenizer.encode(pair.target)),
            (*tokenizer.encode(pair.target), EOS),
        )
        for pair in pairs
    )
    for epoch in range(2):
        assert batches.position == BatchPosition(epoch=epoch, index=0)
        taken = [next(batches) for _ in range(batches.batches_per_epoch)]
        assert Counter(row for batch in taken for row in rows_of(batch)) == expected
        assert max(len(batch.src) for batch in taken) <= batch_size


def n_padding_of_an_epoch(pairs: list[Pair], tokenizer: Tokenizer) -> int:
    batches = PairBatches(EncodedPairs(pairs, tokenizer, max_seq_len=16), batch_size=4, seed=0)
    return sum(int((next(batches).src == PAD).sum()) for _ in range(batches.batches_per_epoch))


def test_padding_of_one_stretch_is_as_little_as_can_be(tokenizer: Tokenizer):
    lengths = [5, 1, 2, 8, 8, 3, 1, 6, 2, 4, 8, 7, 3, 1, 2, 5]
    by_length = sorted(lengths)  # neighbours in this order are the best company
    groups = [by_length[i : i + 4] for i in range(0, 16, 4)]
    expected = sum(max(group) - n for group in groups for n in group)
    assert n_padding_of_an_epoch(some_pairs([(n, n) for n in lengths]), tokenizer) == expected


def test_padding_is_less_than_half_of_what_chance_gives(tokenizer: Tokenizer):
    lengths = [n for n in range(1, 9) for _ in range(50)]
    np.random.default_rng(3).shuffle(lengths)
    groups = [lengths[i : i + 4] for i in range(0, len(lengths), 4)]
    by_chance = sum(max(group) - n for group in groups for n in group)
    assert n_padding_of_an_epoch(some_pairs([(n, n) for n in lengths]), tokenizer) < by_chance / 2


def test_epochs_differ(tokenizer: Tokenizer):
    batches = PairBatches(EncodedPairs(some_pairs([(3, 3)] * 64), tokenizer, max_seq_len=8), batch_size=8, seed=0)
    first, second = ([next(batches).src.tolist() for _ in range(8)] for _ in range(2))
    assert first != second


@pytest.mark.parametrize("n_taken", [0, 1, 4, 5, 13])
def test_from_a_position_the_same_batches_come(tokenizer: Tokenizer, n_taken: int):
    pairs = EncodedPairs(some_pairs([(1 + i % 6, 1 + i % 5) for i in range(33)]), tokenizer, max_seq_len=8)
    unbroken = PairBatches(pairs, batch_size=8, seed=7)
    for _ in range(n_taken):
        next(unbroken)
    resumed = PairBatches(pairs, batch_size=8, seed=7).seek(unbroken.position)
    for _ in range(12):
        for expected, tokens in zip(next(unbroken), next(resumed), strict=True):
            assert torch.equal(expected, tokens)
    assert resumed.position == unbroken.position


def test_another_seed_gives_another_order(tokenizer: Tokenizer):
    pairs = EncodedPairs(some_pairs([(3, 3)] * 64), tokenizer, max_seq_len=8)
    one, other = (next(PairBatches(pairs, batch_size=8, seed=seed)).src.tolist() for seed in (0, 1))
    assert one != other


def test_a_position_that_does_not_exist_is_refused(tokenizer: Tokenizer):
    batches = PairBatches(EncodedPairs(some_pairs([(3, 3)] * 9), tokenizer, max_seq_len=8), batch_size=4, seed=0)
    for position in (BatchPosition(epoch=0, index=3), replace(batches.position, epoch=-1)):
        with pytest.raises(CorpusError, match="an epoch has 3 batches"):
            batches.seek(position)


@pytest.mark.parametrize(("too_long", "side"), [((8, 3), "source"), ((3, 8), "target")])
def test_a_pair_that_is_too_long_is_named_by_its_line(tokenizer: Tokenizer, too_long: tuple[int, int], side: str):
    fitting = [(7, 7)] * 4
    EncodedPairs(some_pairs(fitting), tokenizer, max_seq_len=8)
    with pytest.raises(CorpusError, match=f"the {side} of line 5 has 9 tokens.* takes 8 at most"):
        EncodedPairs(some_pairs([*fitting, too_long, too_long]), tokenizer, max_seq_len=8)


def test_no_pairs_are_refused(tokenizer: Tokenizer):
    with pytest.raises(CorpusError, match="at least one"):
        EncodedPairs([], tokenizer, max_seq_len=8)
