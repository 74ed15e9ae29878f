"""Masks against matrices made by hand. True = may attend."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from transformer_core.model.masks import look_ahead_mask, padding_mask


def boolean(rows: list[str]) -> torch.Tensor:
    """A matrix of rows like "x x ."; x = may attend."""
    return torch.tensor([[cell == "x" for cell in row.split()] for row in rows])


def test_look_ahead_by_hand():
    expected = boolean(["x . . .", "x x . .", "x x x .", "x x x x"])
    assert torch.equal(look_ahead_mask(4), expected)
    assert torch.equal(look_ahead_mask(1), boolean(["x"]))


def test_look_ahead_behind_earlier_positions():
    assert torch.equal(look_ahead_mask(2, n_earlier=3), boolean(["x x x x .", "x x x x x"]))
    assert torch.equal(look_ahead_mask(1, n_earlier=4), boolean(["x x x x x"]))


@given(st.integers(1, 9), st.integers(0, 9))
def test_earlier_positions_are_rows_that_need_not_be_asked_again(n_queries: int, n_earlier: int):
    whole = look_ahead_mask(n_earlier + n_queries)
    assert torch.equal(look_ahead_mask(n_queries, n_earlier), whole[n_earlier:])


def test_padding_by_hand():
    tokens = torch.tensor([[5, 6, 7], [5, 0, 0], [0, 0, 0]])
    expected = boolean(["x x x", "x . .", ". . ."])
    assert torch.equal(padding_mask(tokens, pad_id=0), expected[:, None, None, :])
    assert torch.equal(padding_mask(tokens, pad_id=6)[0, 0, 0], boolean(["x . x"])[0])


def test_without_a_padding_token_every_key_is_real():
    mask = padding_mask(torch.zeros(2, 3, dtype=torch.int64), pad_id=None)
    assert torch.equal(mask, torch.ones(2, 1, 1, 3, dtype=torch.bool))


def test_their_product_by_hand():
    tokens = torch.tensor([[5, 6, 0, 0], [5, 6, 7, 8]])
    mask = look_ahead_mask(4) & padding_mask(tokens, pad_id=0)
    assert mask.shape == (2, 1, 4, 4)
    assert torch.equal(mask[0, 0], boolean(["x . . .", "x x . .", "x x . .", "x x . ."]))
    assert torch.equal(mask[1, 0], boolean(["x . . .", "x x . .", "x x x .", "x x x x"]))


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 999))
def test_their_product_allows_what_both_allow(batch: int, n_positions: int, seed: int):
    tokens = torch.randint(0, 3, (batch, n_positions), generator=torch.Generator().manual_seed(seed))
    mask = look_ahead_mask(n_positions) & padding_mask(tokens, pad_id=0)
    for b in range(batch):
        for query in range(n_positions):
            for key in range(n_positions):
                assert mask[b, 0, query, key] == (key <= query and tokens[b, key] != 0)


@pytest.mark.parametrize("mask", [look_ahead_mask(3), padding_mask(torch.ones(1, 3, dtype=torch.int64), 0)])
def test_masks_are_boolean(mask: torch.Tensor):
    assert mask.dtype == torch.bool
