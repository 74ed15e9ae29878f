"""Batches of texts: every token learnt from once an epoch, whole texts and cut ones, and masks that come again."""

from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from transformer_core.config import Architecture
from transformer_core.corpora.batch_order import IGNORED, Batches, BatchPosition
from transformer_core.corpora.batching import batches_for
from transformer_core.corpora.corpus import Labelled, Text
from transformer_core.corpora.text_batches import LabelledBatches, LabelledRow, MaskedBatches, NextTokenBatches, masked
from transformer_core.errors import CorpusError
from transformer_core.text.tokenizer import Tokenizer, train_tokenizer, word_tokenizer

PAD, BOS, EOS, MASK = 0, 1, 2, 4
LETTERS = "abcdefghijklmnopqrstuvwxyz"
N_SPECIAL = 5
ORDINARY = np.arange(N_SPECIAL, 50)

texts = st.lists(st.text(LETTERS, max_size=30), max_size=30).filter(any)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer([LETTERS], kind="character", mask=True)


def next_token(texts: list[str], tokenizer: Tokenizer, *, max_seq_len: int = 8, batch_size: int = 4) -> Batches:
    return NextTokenBatches(
        [Text(text) for text in texts], tokenizer, max_seq_len=max_seq_len, batch_size=batch_size, seed=5
    )


def some_masked(
    texts: list[str], tokenizer: Tokenizer, *, max_seq_len: int = 8, batch_size: int = 4, seed: int = 5
) -> Batches:
    return MaskedBatches(
        [Text(text) for text in texts], tokenizer, max_seq_len=max_seq_len, batch_size=batch_size, seed=seed
    )


@settings(max_examples=40)
@given(texts, st.integers(1, 12), st.integers(1, 9))
def test_a_decoder_learns_every_token_once_an_epoch(
    tokenizer: Tokenizer, texts: list[str], max_seq_len: int, batch_size: int
):
    """Each target stands beside the token before it, and as many tokens before that as the piece has."""
    expected: Counter[tuple[tuple[int, ...], int]] = Counter()
    for text in texts:
        tokens = [BOS, *tokenizer.encode(text), EOS]
        for place in range(len(tokens) - 1):
            start = place // max_seq_len * max_seq_len
            expected[tuple(tokens[start : place + 1]), tokens[place + 1]] += 1
    actual: Counter[tuple[tuple[int, ...], int]] = Counter()
    batches = next_token(texts, tokenizer, max_seq_len=max_seq_len, batch_size=batch_size)
    for _ in range(batches.batches_per_epoch):
        batch = next(batches)
        assert batch.inputs[0].shape == batch.targets.shape
        assert batch.inputs[0].shape[1] <= max_seq_len
        for row, targets in zip(batch.inputs[0].tolist(), batch.targets.tolist(), strict=True):
            n_tokens = sum(target != IGNORED for target in targets)
            assert all(target == IGNORED for target in targets[n_tokens:])
            assert row[n_tokens:] == [PAD] * (len(row) - n_tokens)
            actual.update((tuple(row[: place + 1]), targets[place]) for place in range(n_tokens))
    assert actual == expected
    assert batches.position == BatchPosition(epoch=1, index=0)


@settings(max_examples=40)
@given(texts, st.integers(3, 12), st.integers(1, 9))
def test_an_encoder_sees_every_token_once_an_epoch(
    tokenizer: Tokenizer, texts: list[str], max_seq_len: int, batch_size: int
):
    expected = Counter(
        tuple(tokenizer.encode(text)[start : start + max_seq_len - 2])
        for text in texts
        for start in range(0, len(text), max_seq_len - 2)
    )
    actual: Counter[tuple[int, ...]] = Counter()
    batches = some_masked(texts, tokenizer, max_seq_len=max_seq_len, batch_size=batch_size)
    for _ in range(batches.batches_per_epoch):
        batch = next(batches)
        for row, targets in zip(batch.inputs[0].tolist(), batch.targets.tolist(), strict=True):
            end = row.index(EOS)
            assert len(row) <= max_seq_len and {*row[1:end]} <= {MASK, *range(5, 5 + 26)}
            assert (row[0], row[end + 1 :]) == (BOS, [PAD] * (len(row) - end - 1))
            assert targets[0] == targets[end] == IGNORED and set(targets[end + 1 :]) <= {IGNORED}
            n_chosen = sum(target != IGNORED for target in targets)
            assert n_chosen == max(1, round(0.15 * (end - 1)))
            pairs = zip(row[1:end], targets[1:end], strict=True)
            actual[tuple(token if target == IGNORED else target for token, target in pairs)] += 1
    assert actual == expected


def test_each_epoch_each_batch_and_each_seed_masks_others(tokenizer: Tokenizer):
    texts = [LETTERS] * 8  # one row is like another, so that masks alone tell batches apart
    masks = set()
    for seed in (0, 1):
        batches = some_masked(texts, tokenizer, max_seq_len=30, batch_size=4, seed=seed)
        masks |= {str(next(batches).targets.tolist()) for _ in range(6)}
    assert len(masks) == 12


def test_masks_have_nothing_to_do_with_the_order(tokenizer: Tokenizer):
    """numpy takes the seed (5, 0, 0) for (5, 0), which orders the epoch; the first batch must draw other lots."""
    batches = some_masked([LETTERS] * 4, tokenizer, max_seq_len=30)
    lots = np.random.default_rng((5, 0)).random((4, 28))[:, 1:-1]
    chosen = np.sort(np.argsort(lots, axis=1)[:, :4], axis=1)
    assert [
        [i - 1 for i, t in enumerate(row) if t != IGNORED] for row in next(batches).targets.tolist()
    ] != chosen.tolist()


def test_an_encoder_needs_tokens_room_and_a_mask(tokenizer: Tokenizer):
    with pytest.raises(CorpusError, match=r"max_seq_len \(2\) leaves no room .* must be at least 3"):
        some_masked(["a"], tokenizer, max_seq_len=2)
    for nothing in ([], [""]):
        with pytest.raises(CorpusError, match="at least one non-empty text"):
            some_masked(nothing, tokenizer)
    tokenizer = train_tokenizer([LETTERS], kind="character")
    with pytest.raises(CorpusError, match="no <mask> token"):
        some_masked(["abc"], tokenizer)


def some_rows(lengths: list[int], seed: int = 0) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Rows of 1, some tokens, 2, padded with 0; and where the tokens are."""
    random = np.random.default_rng(seed)
    tokens = np.zeros((len(lengths), max(lengths) + 2), np.int64)
    for row, length in zip(tokens, lengths, strict=True):
        row[0], row[1 : length + 1], row[length + 1] = 1, random.choice(ORDINARY, size=length), 2
    return tokens, tokens >= N_SPECIAL


@given(st.lists(st.integers(1, 60), min_size=1, max_size=9), st.integers(0, 2**32))
def test_fifteen_of_a_hundred_tokens_of_a_row_are_chosen(lengths: list[int], seed: int):
    tokens, is_text = some_rows(lengths)
    before = tokens.copy()
    seen, targets = masked(tokens, is_text, mask_id=MASK, ordinary=ORDINARY, random=np.random.default_rng(seed))
    np.testing.assert_array_equal(tokens, before)
    assert seen.dtype == targets.dtype == np.int64
    for length, row, seen_row, target_row in zip(lengths, tokens, seen, targets, strict=True):
        n_chosen = 0
        for token, now, target in zip(row.tolist(), seen_row.tolist(), target_row.tolist(), strict=True):
            if target == IGNORED:
                assert now == token
            else:
                n_chosen += 1
                assert target == token >= N_SPECIAL
                assert now == MASK or now >= N_SPECIAL
        assert n_chosen == max(1, round(0.15 * length))


def test_what_becomes_of_the_chosen_ones():
    tokens, is_text = some_rows([200] * 500)
    seen, targets = masked(tokens, is_text, mask_id=MASK, ordinary=ORDINARY, random=np.random.default_rng(1))
    chosen = targets != IGNORED
    assert chosen.sum() == 500 * 30
    is_masked, is_same = seen[chosen] == MASK, seen[chosen] == tokens[chosen]
    deviation = 5 * 0.5 / np.sqrt(chosen.sum())  # five standard deviations, at least
    assert is_masked.mean() == pytest.approx(0.8, abs=deviation)
    assert is_same.mean() == pytest.approx(0.1 + 0.1 / len(ORDINARY), abs=deviation)
    others = seen[chosen][~is_masked & ~is_same]
    assert set(others.tolist()) == set(ORDINARY.tolist())  # any ordinary token, and no special one
    counts = np.bincount(others - N_SPECIAL)
    assert counts.max() < 2 * counts.mean()


OF_LABELS = word_tokenizer(["a", "b", "1/2", "yes"])
A, B, HALF, YES = 4, 5, 6, 7
LABELLED = [
    Labelled("a b", labels=("1/2", "yes")),
    Labelled("b", labels=("a",)),
    Labelled("b b a", labels=("a", "b", "a")),
]
DECODED = {
    ((BOS, A, B), (IGNORED, HALF, YES)),
    ((BOS, B), (IGNORED, A)),
    ((BOS, B, B, A), (IGNORED, A, B, A)),
}


def labelled_rows(batches: LabelledBatches) -> Counter[LabelledRow]:
    """The rows of an epoch without padding, and how often each came."""
    actual = Counter[LabelledRow]()
    for _ in range(batches.batches_per_epoch):
        (tokens,), targets, _ = next(batches)
        assert tokens.dtype == targets.dtype == torch.int64
        assert (tokens != PAD).any(dim=0).all(), "a batch is as long as its longest text"
        for row, wanted in zip(tokens, targets, strict=True):
            is_text = row != PAD
            assert (wanted[~is_text] == IGNORED).all()
            actual[tuple(row[is_text].tolist()), tuple(wanted[is_text].tolist())] += 1
    return actual


@pytest.mark.parametrize("architecture", ["decoder_only", "encoder_only"])
@pytest.mark.parametrize("batch_size", [1, 2, 3])
def test_each_epoch_has_every_row_once(architecture: Architecture, batch_size: int):
    batches = batches_for(LABELLED, OF_LABELS, architecture, max_seq_len=5, batch_size=batch_size, seed=0)
    assert isinstance(batches, LabelledBatches)
    expected = {
        ((*tokens, EOS), (*targets, IGNORED)) if architecture == "encoder_only" else (tokens, targets)
        for tokens, targets in DECODED
    }
    for _ in range(2):
        assert labelled_rows(batches) == dict.fromkeys(expected, 1)


def test_what_does_not_fit_is_said():
    with pytest.raises(CorpusError, match=r"the longest input has 5 tokens.*set max_seq_len=5"):
        batches_for(LABELLED, OF_LABELS, "encoder_only", max_seq_len=4, batch_size=2, seed=0)
    with pytest.raises(CorpusError, match="one token for each of its labels"):
        batches_for([Labelled("a b", labels=("a",))], OF_LABELS, "decoder_only", max_seq_len=9, batch_size=2, seed=0)
    with pytest.raises(CorpusError, match="needs pairs"):
        batches_for(LABELLED, OF_LABELS, "encoder_decoder", max_seq_len=9, batch_size=2, seed=0)
