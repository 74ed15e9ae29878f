"""Attention masks: which keys each query may attend to. They are boolean, True = may attend, and all built here.

A mask broadcasts to [batch, head, query, key]. Padding and causal masks combine by `&`:

>>> tokens = torch.tensor([[5, 6, 0]])
>>> (padding_mask(tokens, pad_id=0) & causal_mask(3)).int()
tensor([[[[1, 0, 0],
          [1, 1, 0],
          [1, 1, 0]]]], dtype=torch.int32)

A stack passes its blocks the rule, `AttentionMask`, and not the matrix: the fused kernel has its own causal mask, and a
few rows of a long text can be computed without the others.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.compiler import is_compiling

from transformer_core.errors import TextError


def padding_mask(tokens: Int[Tensor, "batch key"], pad_id: int | None) -> Bool[Tensor, "batch 1 1 key"]:
    """Allow every key that is not padding.

    Args:
        tokens: the sequence that the keys come from.
        pad_id: the padding token; None: there is none, and everything is allowed.
    """
    is_real = torch.ones_like(tokens, dtype=torch.bool) if pad_id is None else tokens != pad_id
    return is_real[:, None, None, :]


def causal_mask(n_queries: int, n_past: int = 0, device: torch.device | None = None) -> Bool[Tensor, "query key"]:
    """Allow each position itself and everything before it ("subsequent positions" are hidden).

    Args:
        n_queries: number of queries.
        n_past: positions before the first query, whose keys are cached: all of them allowed.
        device: of the mask.

    Returns:
        [query, n_past + n_queries], True where key <= n_past + query.

    Source: Vaswani et al. 2017, sec. 3.2.3, third point.
    """
    n_keys = n_past + n_queries
    return torch.ones(n_queries, n_keys, dtype=torch.bool, device=device).tril(diagonal=n_past)


def sliding_window_mask(
    n_queries: int, n_keys: int, window: int, *, n_past: int = 0, device: torch.device | None = None
) -> Bool[Tensor, "query key"]:
    """Allow each position itself and its neighbours at a distance below `window` on either side.

    Args:
        n_queries: number of queries.
        n_keys: number of keys, from position 0 on.
        window: at least 1, which allows only the position itself.
        n_past: positions before the first query.
        device: of the mask.

    Returns:
        [query, key], True where |n_past + query - key| < window.

    Source: Beltagy et al. 2020, "Longformer", sec. 3.1.
    """
    query, key = _places(n_queries, n_keys, n_past, device)
    return (query - key).abs() < window


def prefix_mask(
    n_queries: int, n_keys: int, n_prefix: int, *, n_past: int = 0, device: torch.device | None = None
) -> Bool[Tensor, "query key"]:
    """Allow the first `n_prefix` keys for all queries, and otherwise each position itself and everything before it.

    Args:
        n_queries: number of queries.
        n_keys: number of keys, from position 0 on.
        n_prefix: keys that all queries may attend to; 0 gives the causal mask.
        n_past: positions before the first query.
        device: of the mask.

    Source: Raffel et al. 2020, "Exploring the Limits of Transfer Learning", sec. 3.2.1 ("causal with prefix").
    """
    query, key = _places(n_queries, n_keys, n_past, device)
    return (key <= query) | (key < n_prefix)


def block_mask(
    n_queries: int, n_keys: int, size: int, *, n_past: int = 0, device: torch.device | None = None
) -> Bool[Tensor, "query key"]:
    """Allow attention only within each block: several texts packed into one sequence.

    Args:
        n_queries: number of queries.
        n_keys: number of keys, from position 0 on.
        size: positions per block, at least 1; the last block may be shorter.
        n_past: positions before the first query.
        device: of the mask.

    Returns:
        [query, key], True where both are in the same block.
    """
    query, key = _places(n_queries, n_keys, n_past, device)
    return query // size == key // size


def _places(n_queries: int, n_keys: int, n_past: int, device: torch.device | None) -> tuple[Tensor, Tensor]:
    """Return the positions of queries, as a column, and of keys, as a row."""
    query = torch.arange(n_past, n_past + n_queries, device=device)[:, None]
    return query, torch.arange(n_keys, device=device)[None]


@dataclass(frozen=True, kw_only=True, eq=False)
class AttentionMask:
    """The mask of one attention as a rule, materialized on demand."""

    n_queries: int
    n_keys: int
    device: torch.device
    is_causal: bool = False  # later keys are hidden (sec. 3.2.3)
    n_past: int = 0  # cached keys before the first query
    window: int | None = None  # keys at a smaller distance are visible (Beltagy et al. 2020, sec. 3.1); None: all
    is_real: Bool[Tensor, "batch key"] | None = None  # False for padding; None: no padding

    @classmethod
    def of_keys(cls, tokens: Int[Tensor, "batch key"], pad_id: int | None, *, n_queries: int) -> Self:
        """Return the rule of cross-attention: all keys but padding."""
        is_real = _real_ones(tokens, pad_id, first_is_real=False)
        return cls(n_queries=n_queries, n_keys=tokens.shape[1], device=tokens.device, is_real=is_real)

    @classmethod
    def within(
        cls,
        tokens: Int[Tensor, "batch query"],
        pad_id: int | None,
        *,
        is_causal: bool,
        n_past: int = 0,
        window: int | None = None,
        first_is_real: bool = False,
    ) -> Self:
        """Return the rule of self-attention.

        Args:
            tokens: of the queries; with cached tokens before them, none is padding.
            pad_id: the padding token; None: there is none.
            is_causal: whether later keys are hidden.
            n_past: cached tokens before the first query.
            window: keys at a smaller distance are visible; None: all.
            first_is_real: the first token is never padding: some decoders begin with the padding token.
        """
        n_queries = tokens.shape[1]
        # a causal mask hides padding on the right anyway; compiled models are for training
        is_all_real = n_past > 0 or (is_causal and is_compiling())
        return cls(
            n_queries=n_queries,
            n_keys=n_past + n_queries,
            device=tokens.device,
            is_causal=is_causal,
            n_past=n_past,
            window=window,
            is_real=None if is_all_real else _real_ones(tokens, pad_id, first_is_real=first_is_real),
        )

    def in_window(self, window: int | None) -> Self:
        """Return the same rule with another window, or without a window."""
        return self if window == self.window else replace(self, window=window)

    @property
    def is_bounded(self) -> bool:
        """Whether the window hides anything."""
        return self.window is not None and self.window < self.n_keys

    @property
    def allows_everything(self) -> bool:
        """Whether no key is hidden."""
        hides_later = self.is_causal and self.n_keys > self.n_past + 1
        return self.is_real is None and not self.is_bounded and not hides_later

    @property
    def is_causal_only(self) -> bool:
        """Whether it hides exactly the later keys, from the first key on, which the fused kernel can do itself."""
        return self.is_causal and not self.n_past and self.is_real is None and not self.is_bounded

    def write_out(self, queries: slice = slice(None), keys: slice = slice(None)) -> Bool[Tensor, "#batch 1 query key"]:
        """Return the mask as a matrix, or a window of it.

        Args:
            queries: rows, a slice of 0 to `n_queries`.
            keys: columns, a slice of 0 to `n_keys`.
        """
        query = torch.arange(*queries.indices(self.n_queries), device=self.device)[:, None] + self.n_past
        key = torch.arange(*keys.indices(self.n_keys), device=self.device)
        allowed = torch.ones(len(query), len(key), dtype=torch.bool, device=self.device)
        if self.is_causal:
            allowed &= key <= query
        if self.window is not None:
            allowed &= (query - key).abs() < self.window
        written_out = allowed[None, None]
        return written_out if self.is_real is None else written_out & self.is_real[:, None, None, keys]

    @cached_property
    def added_to_scores(self) -> Float[Tensor, "#batch 1 query key"] | None:
        """0 where the mask allows and -inf where it forbids; computed once for all blocks that share the rule.

        None if no key is hidden.
        """
        return None if self.allows_everything else torch.where(self.write_out(), 0.0, -math.inf)

    def within_reach(self, queries: slice) -> slice:
        """Return a range of keys that contains all visible ones of a non-empty, contiguous range of queries."""
        rows = range(*queries.indices(self.n_queries))
        first, last = rows[0] + self.n_past, rows[-1] + self.n_past
        start, stop = 0, self.n_keys
        if self.window is not None:
            start, stop = max(0, first - self.window + 1), min(stop, last + self.window)
        return slice(start, min(stop, last + 1) if self.is_causal else stop)

    def n_open(self, queries: slice) -> int:
        """Return a number of first keys that each of a non-empty, contiguous range of queries may attend to."""
        if self.is_real is not None or self.is_bounded:
            return 0
        return range(*queries.indices(self.n_queries))[0] + self.n_past + 1 if self.is_causal else self.n_keys

    def to(self, device: torch.device | str) -> Self:
        """Return the same rule for another device."""
        is_real = None if self.is_real is None else self.is_real.to(device)
        return replace(self, device=torch.device(device), is_real=is_real)


def refuse_padding_inside(is_real: Bool[Tensor, "batch pos"]) -> None:
    """Check that padding is only on the right: positions are counted from the first token, padding or not.

    Raises:
        TextError: there is padding before a token.
    """
    begins_late = (is_real[:, 1:] & ~is_real[:, :-1]).any(dim=1)
    if begins_late.any():
        raise TextError(
            "row {row} has padding before a token, which would get a wrong position; pad on the right only, or run "
            "the rows one at a time, without padding",
            row=int(begins_late.nonzero()[0]),
        )


def _real_ones(tokens: Tensor, pad_id: int | None, *, first_is_real: bool) -> Tensor | None:
    """Return a mask of the tokens that are not padding; None if no token is padding, except while compiling."""
    if pad_id is None:
        return None
    is_real = tokens != pad_id
    if first_is_real:
        is_real[:, :1] = True
    if is_compiling():
        return is_real
    if bool(is_real.all()):
        return None
    refuse_padding_inside(is_real)
    return is_real
