"""Overviews: blocks that cover everything once, whatever the sizes and however the rows come."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from transformer_core.errors import ConfigError
from transformer_core.instrument.pooling import Overview

SIZES = st.tuples(st.integers(1, 9), st.integers(1, 9))


def overview(pattern: torch.Tensor, size: tuple[int, int], reduce: str, cuts: list[int]) -> torch.Tensor:
    """The rows in chunks that begin at some cuts."""
    assert reduce in ("max", "mean")
    pooled = Overview(
        (pattern.shape[0], pattern.shape[1], pattern.shape[2]),
        size,
        "max" if reduce == "max" else "mean",
        dtype=pattern.dtype,
        device=pattern.device,
    )
    n_keys = pattern.shape[2]
    for start, stop in zip([0, *cuts], [*cuts, pattern.shape[1]], strict=True):
        pooled.add(pattern[:, start:stop], slice(start, stop), slice(0, n_keys))
    return pooled.finished()


@given(st.integers(1, 13), st.integers(1, 13), SIZES, st.sets(st.integers(1, 12)), st.integers(0, 9))
def test_against_blocks_taken_one_by_one(n_queries: int, n_keys: int, size: tuple[int, int], cuts: set[int], seed: int):
    pattern = torch.randn(2, n_queries, n_keys, generator=torch.Generator().manual_seed(seed))
    cut_at = sorted(cut for cut in cuts if cut < n_queries)
    largest, mean = (overview(pattern, size, reduce, cut_at) for reduce in ("max", "mean"))
    rows, columns = min(size[0], n_queries), min(size[1], n_keys)
    assert largest.shape == mean.shape == (2, rows, columns)
    n_seen = 0
    for i in range(rows):
        for j in range(columns):
            queries = slice(i * n_queries // rows, (i + 1) * n_queries // rows)
            keys = slice(j * n_keys // columns, (j + 1) * n_keys // columns)
            block = pattern[:, queries, keys].flatten(1)
            n_seen += block.shape[1]
            assert torch.equal(largest[:, i, j], block.max(dim=1).values)
            torch.testing.assert_close(mean[:, i, j], block.mean(dim=1), rtol=1e-5, atol=1e-6)
    assert n_seen == n_queries * n_keys


def test_keys_that_are_left_out_count_as_0():
    pattern = torch.tensor([[[-1.0, -3.0]]])
    for reduce, expected in (("max", [[0.0, -1.0]]), ("mean", [[0.0, -2.0]])):
        pooled = Overview(
            (1, 1, 4), (1, 2), "max" if reduce == "max" else "mean", dtype=torch.float32, device=torch.device("cpu")
        )
        pooled.add(pattern, slice(0, 1), slice(2, 4))
        assert pooled.finished()[0].tolist() == expected


@pytest.mark.parametrize("size", [(0, 3), (3, 0), (-1, 5)])
def test_a_size_below_1_is_an_error(size: tuple[int, int]):
    with pytest.raises(ConfigError, match=f"at least one row and one column; got {size[0]} x {size[1]}"):
        Overview((1, 4, 4), size, "max", dtype=torch.float32, device=torch.device("cpu"))
