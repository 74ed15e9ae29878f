"""Masks against matrices made by hand. True = may attend."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer_core.model.masks import (
    AttentionMask,
    block_mask,
    causal_mask,
    padding_mask,
    prefix_mask,
    sliding_window_mask,
)


def boolean(rows: list[str]) -> torch.Tensor:
    """A matrix of rows like "x x ."; x = may attend."""
    return torch.tensor([[cell == "x" for cell in row.split()] for row in rows])


def test_look_ahead_by_hand():
    expected = boolean(["x . . .", "x x . .", "x x x .", "x x x x"])
    assert torch.equal(causal_mask(4), expected)
    assert torch.equal(causal_mask(1), boolean(["x"]))


def test_padding_by_hand():
    tokens = torch.tensor([[5, 6, 7], [5, 0, 0], [0, 0, 0]])
    expected = boolean(["x x x", "x . .", ". . ."])
    assert torch.equal(padding_mask(tokens, pad_id=0), expected[:, None, None, :])
    assert torch.equal(padding_mask(tokens, pad_id=6)[0, 0, 0], boolean(["x . x"])[0])


def test_without_a_padding_token_every_key_is_real():
    mask = padding_mask(torch.zeros(2, 3, dtype=torch.int64), pad_id=None)
    assert torch.equal(mask, torch.ones(2, 1, 1, 3, dtype=torch.bool))


def a_rule(
    *, n_queries: int, is_causal: bool, n_past: int = 0, window: int | None = None, padding: str = "none"
) -> AttentionMask:
    """The rule of self-attention over two texts; token 0 is padding."""
    tokens = torch.full((2, n_queries), 5)
    if padding != "none":
        tokens[1, n_queries // 2 :] = 0
    if padding == "and first":
        tokens[:, 0] = 0
    return AttentionMask.within(
        tokens,
        pad_id=0,
        is_causal=is_causal,
        n_past=n_past,
        window=window,
        first_is_real=padding == "and first",
    )


def by_hand(
    *, n_queries: int, is_causal: bool, n_past: int = 0, window: int | None = None, padding: str = "none"
) -> torch.Tensor:
    """The same mask, cell by cell; after earlier tokens all new ones are real."""
    n_keys = n_past + n_queries
    allowed = torch.zeros(2, 1, n_queries, n_keys, dtype=torch.bool)
    for text in range(2):
        for query in range(n_queries):
            for key in range(n_keys):
                pos = n_past + query
                is_padding = padding != "none" and not n_past and text == 1 and key >= n_queries // 2
                if padding == "and first" and key == 0:
                    is_padding = False
                is_later = is_causal and key > pos
                is_far = window is not None and abs(pos - key) >= window
                allowed[text, 0, query, key] = not (is_padding or is_later or is_far)
    return allowed


@pytest.mark.parametrize("padding", ["none", "after", "and first"])
@pytest.mark.parametrize("is_causal, n_past", [(True, 0), (True, 3), (False, 0)])
def test_a_rule_is_the_mask_cell_by_cell_and_says_so_itself(is_causal: bool, n_past: int, padding: str):
    """The fused kernel takes its word; and where it could say more, the kernel would be slower for nothing."""
    for n_queries in (1, 2, 6):
        for window in (None, 1, 2, 5, 20):
            parts: dict[str, Any] = {"n_queries": n_queries, "is_causal": is_causal, "n_past": n_past}
            mask, expected = (
                a_rule(**parts, window=window, padding=padding),
                by_hand(**parts, window=window, padding=padding),
            )
            assert torch.equal(mask.write_out().expand(2, -1, -1, -1), expected)
            assert mask.allows_everything == bool(expected.all())
            summand = 0 if mask.added_to_scores is None else mask.added_to_scores
            assert torch.equal(torch.zeros(expected.shape) + summand, (1.0 * expected).log())
            is_look_ahead = torch.equal(expected, causal_mask(n_queries, n_past).expand_as(expected))
            assert mask.is_causal_only == (is_causal and not n_past and is_look_ahead)


@pytest.mark.parametrize("padding", ["none", "after"])
@pytest.mark.parametrize("is_causal, n_past, window", [(True, 0, None), (True, 3, 2), (False, 0, 3)])
def test_a_window_of_a_rule_is_a_window_of_the_mask(is_causal: bool, n_past: int, window: int | None, padding: str):
    mask = a_rule(n_queries=5, is_causal=is_causal, n_past=n_past, window=window, padding=padding)
    whole = mask.write_out()
    for queries in (slice(None), slice(0, 1), slice(2, 4), slice(3, 99)):
        for keys in (slice(None), slice(1, 2), slice(2, 5)):
            assert torch.equal(mask.write_out(queries, keys), whole[:, :, queries, keys])


def test_a_rule_of_keys_is_the_padding_for_all_queries():
    tokens = torch.tensor([[5, 6, 7], [5, 0, 0]])
    mask = AttentionMask.of_keys(tokens, pad_id=0, n_queries=2)
    assert torch.equal(mask.write_out(), padding_mask(tokens, pad_id=0).expand(2, 1, 2, 3))
    assert not mask.allows_everything and not mask.is_causal_only
    for all_real in (
        AttentionMask.of_keys(tokens, pad_id=None, n_queries=2),
        AttentionMask.of_keys(tokens[:1], pad_id=0, n_queries=2),
    ):
        assert all_real.allows_everything and torch.equal(all_real.write_out(), torch.ones(1, 1, 2, 3).bool())


@pytest.mark.parametrize("is_causal", [True, False])
@pytest.mark.parametrize("window", [None, 1, 2, 5, 20])
@pytest.mark.parametrize("n_past", [0, 3])
def test_all_that_some_queries_may_see_is_within_reach_and_no_more(is_causal: bool, window: int | None, n_past: int):
    rule = AttentionMask(
        n_queries=6,
        n_keys=6 + n_past,
        device=torch.device("cpu"),
        is_causal=is_causal,
        n_past=n_past,
        window=window,
    )
    allowed = rule.write_out()[0, 0]
    for start in range(6):
        for stop in range(start + 1, 7):
            seen = allowed[start:stop].any(dim=0).nonzero()
            assert rule.within_reach(slice(start, stop)) == slice(int(seen.min()), int(seen.max()) + 1)
            n_open = int(allowed[start:stop].all(dim=0).long().cumprod(dim=0).sum())
            assert rule.n_open(slice(start, stop)) == (0 if rule.is_bounded else n_open)


@settings(max_examples=30)
@given(st.integers(1, 7), st.integers(1, 7), st.integers(1, 8), st.integers(0, 5))
def test_a_window_a_prefix_and_blocks_cell_by_cell(n_queries: int, n_keys: int, size: int, n_past: int):
    window = sliding_window_mask(n_queries, n_keys, size, n_past=n_past)
    prefix = prefix_mask(n_queries, n_keys, size, n_past=n_past)
    block = block_mask(n_queries, n_keys, size, n_past=n_past)
    assert window.shape == prefix.shape == block.shape == (n_queries, n_keys)
    for row in range(n_queries):
        for key in range(n_keys):
            query = row + n_past
            assert window[row, key] == (-size < query - key < size)
            assert prefix[row, key] == (key < size or key <= query)
            assert block[row, key] == any(
                first <= query < first + size and first <= key < first + size for first in range(0, 20, size)
            )
