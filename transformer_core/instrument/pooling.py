"""Pooling: a pattern of any length as an overview of a fixed size, with one number per block of queries and keys."""

from itertools import pairwise
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from transformer_core.errors import ConfigError

Reduce = Literal["max", "mean"]


class Overview:
    """An overview that is filled chunk by chunk with a pattern's rows."""

    def __init__(
        self,
        pattern_shape: tuple[int, int, int],
        size: tuple[int, int],
        reduce: Reduce,
        *,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        """Start empty.

        Args:
            pattern_shape: heads, queries, keys.
            size: rows and columns; at most the numbers of queries and keys.
            reduce: "max" or "mean" of each block.
            dtype: of the pattern; accumulated in at least 32 bits.
            device: of the pattern.

        Raises:
            ConfigError: a size below 1.
        """
        if min(size) < 1:
            raise ConfigError(
                "an overview needs at least one row and one column; got {n_rows} x {n_columns}",
                n_rows=size[0],
                n_columns=size[1],
            )
        n_heads, n_queries, self.n_keys = pattern_shape
        self.row_ends = block_ends(n_queries, size[0])
        self.heights, self.widths = _lengths(n_queries, size[0], device), _lengths(self.n_keys, size[1], device)
        self.keys, self.is_inside = _members(self.widths)
        self.is_max = reduce == "max"
        self.blocks = torch.full(
            (n_heads, len(self.heights), len(self.widths)),
            -torch.inf if self.is_max else 0.0,
            dtype=torch.promote_types(dtype, torch.float32),
            device=device,
        )

    def add(self, rows: Float[Tensor, "head query key"], queries: slice, keys: slice) -> None:
        """Add the rows of some queries.

        Args:
            rows: the pattern of these queries and keys; it is 0 at all other keys.
            queries: contiguous, not added before.
            keys: contiguous.
        """
        first = next(row for row, end in enumerate(self.row_ends) if end > queries.start)
        cuts = [queries.start, *(end for end in self.row_ends if queries.start < end < queries.stop), queries.stop]
        of_each_block = rows.split([stop - start for start, stop in pairwise(cuts)], dim=1)
        pooled = torch.stack([x.amax(dim=1) if self.is_max else x.sum(dim=1) for x in of_each_block], dim=1)
        pooled = F.pad(pooled.to(self.blocks.dtype), (keys.start, self.n_keys - keys.stop))  # [head, row, key]
        here = self.blocks[:, first : first + len(of_each_block)]
        if self.is_max:
            torch.maximum(here, self._of_columns(pooled).amax(dim=-1), out=here)
        else:
            here += (self._of_columns(pooled) * self.is_inside).sum(dim=-1)

    def finished(self) -> Float[Tensor, "head row column"]:
        """Return the overview, after all queries have been added."""
        return self.blocks if self.is_max else self.blocks / (self.heights[:, None] * self.widths)

    def _of_columns(self, x: Tensor) -> Tensor:
        """[head, row, key] -> [head, row, column, member]."""
        return x.unflatten(-1, self.keys.shape) if self.keys.numel() == self.n_keys else x[..., self.keys]


def block_ends(n: int, n_blocks: int) -> list[int]:
    """Return the ends (exclusive) of equal chunks of 0 to `n`."""
    n_blocks = min(n, n_blocks)
    return [(i + 1) * n // n_blocks for i in range(n_blocks)]


def _lengths(n: int, n_blocks: int, device: torch.device) -> Int[Tensor, " block"]:
    return torch.tensor([0, *block_ends(n, n_blocks)], device=device).diff()


def _members(widths: Int[Tensor, " column"]) -> tuple[Int[Tensor, "column member"], Int[Tensor, "column member"]]:
    """Return the keys of each column, and a 0/1 mask: narrow columns are padded with their last key."""
    place = torch.arange(int(widths.max()), device=widths.device)
    first = widths.cumsum(0) - widths
    keys = first[:, None] + torch.minimum(place, widths[:, None] - 1)
    return keys, (place < widths[:, None]).long()
