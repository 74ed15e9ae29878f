"""Masking: the numbers of the recipe, and nothing but what was chosen ever changes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from transformer_core.corpora.batch_order import IGNORED
from transformer_core.corpora.masking import masked

MASK, N_SPECIAL, VOCAB = 4, 5, 50
ORDINARY = np.arange(N_SPECIAL, VOCAB)


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
