"""Who may attend to whom. Masks are boolean, True = may attend; this is the one place where they are built.

A mask broadcasts to [batch, head, query, key]. Padding and causal masks combine by `&`:

>>> tokens = torch.tensor([[5, 6, 0]])
>>> (padding_mask(tokens, pad_id=0) & causal_mask(3)).int()
tensor([[[[1, 0, 0],
          [1, 1, 0],
          [1, 1, 0]]]], dtype=torch.int32)

A stack hands its blocks the rule, `AttentionMask`, and not the matrix: the fused kernel has a causal mask of its own,
and a few rows of a long text can be computed without the others.
"""

from dataclasses import dataclass, replace
from typing import Self

import torch
from jaxtyping import Bool, Int
from torch import Tensor
from torch.compiler import is_compiling

from transformer_core.errors import TextError


def padding_mask(tokens: Int[Tensor, "batch key"], pad_id: int | None) -> Bool[Tensor, "batch 1 1 key"]:
    """Allow every key that is a real token.

    Args:
        tokens: the sequence that the keys come from.
        pad_id: the token that fills up shorter sequences; None where there is none, and everything is allowed.
    """
    is_real = torch.ones_like(tokens, dtype=torch.bool) if pad_id is None else tokens != pad_id
    return is_real[:, None, None, :]


def causal_mask(n_queries: int, n_past: int = 0, device: torch.device | None = None) -> Bool[Tensor, "query key"]:
    """Allow each position itself and everything before it ("subsequent positions" are hidden).

    Args:
        n_queries: positions that ask.
        n_past: positions before the first query, whose keys are there already (a cache): all of them allowed.
        device: where the mask is made.

    Returns:
        [query, n_past + n_queries], True where key <= n_past + query.

    Source: Vaswani et al. 2017, sec. 3.2.3, third point.
    """
    n_keys = n_past + n_queries
    return torch.ones(n_queries, n_keys, dtype=torch.bool, device=device).tril(diagonal=n_past)


def sliding_window_mask(
    n_queries: int, n_keys: int, window: int, *, n_past: int = 0, device: torch.device | None = None
) -> Bool[Tensor, "query key"]:
    """Allow each position itself and its neighbours, nearer than `window` on either side.

    Args:
        n_queries: positions that ask.
        n_keys: positions that are looked at, counted from the same start.
        window: at least 1, which allows the position itself alone.
        n_past: positions before the first query.
        device: where the mask is made.

    Returns:
        [query, key], True where |n_past + query - key| < window.

    Source: Beltagy et al. 2020, "Longformer", sec. 3.1.
    """
    query, key = _places(n_queries, n_keys, n_past, device)
    return (query - key).abs() < window


def prefix_mask(
    n_queries: int, n_keys: int, n_prefix: int, *, n_past: int = 0, device: torch.device | None = None
) -> Bool[Tensor, "query key"]:
    """Allow the first `n_prefix` keys to all queries, and after them each position itself and what came before it.

    Args:
        n_queries: positions that ask.
        n_keys: positions that are looked at, counted from the same start.
        n_prefix: keys that all may see; with 0 it is the causal mask.
        n_past: positions before the first query.
        device: where the mask is made.

    Source: Raffel et al. 2020, "Exploring the Limits of Transfer Learning", sec. 3.2.1 ("causal with prefix").
    """
    query, key = _places(n_queries, n_keys, n_past, device)
    return (key <= query) | (key < n_prefix)


def block_mask(
    n_queries: int, n_keys: int, size: int, *, n_past: int = 0, device: torch.device | None = None
) -> Bool[Tensor, "query key"]:
    """Allow the positions of one block to see only each other: several texts packed into one sequence.

    Args:
        n_queries: positions that ask.
        n_keys: positions that are looked at, counted from the same start.
        size: positions of a block, at least 1; the last block may be shorter.
        n_past: positions before the first query.
        device: where the mask is made.

    Returns:
        [query, key], True where both lie in the same block.
    """
    query, key = _places(n_queries, n_keys, n_past, device)
    return query // size == key // size


def _places(n_queries: int, n_keys: int, n_past: int, device: torch.device | None) -> tuple[Tensor, Tensor]:
    """Return the positions of the queries, as a column, and those of the keys, as a row."""
    query = torch.arange(n_past, n_past + n_queries, device=device)[:, None]
    return query, torch.arange(n_keys, device=device)[None]


@dataclass(frozen=True, kw_only=True, eq=False)
class AttentionMask:
    """The rule by which keys are allowed, for all queries of one attention; materialized on demand."""

    n_queries: int
    n_keys: int
    device: torch.device
    is_causal: bool = False  # a query sees itself and what came before it (sec. 3.2.3)
    n_past: int = 0  # keys before the first query, in self-attention that goes on with a cache
    window: int | None = None  # keys nearer than this are seen (Beltagy et al. 2020, sec. 3.1); None: all
    is_real: Bool[Tensor, "batch key"] | None = None  # False for padding; None: every key is a real token

    @classmethod
    def of_keys(cls, tokens: Int[Tensor, "batch key"], pad_id: int | None, *, n_queries: int) -> Self:
        """Allow every real token, to all queries alike."""
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
            tokens: those that ask; after `n_past` cached ones, all of them real then.
            pad_id: the token that fills up shorter sequences; None where there is none.
            is_causal: whether what comes after a query is hidden from it.
            n_past: tokens before the first query, whose keys are there already.
            window: keys nearer than this are seen; None: all.
            first_is_real: the first token counts, whichever it is: some decoders start with the token of the padding.
        """
        n_queries = tokens.shape[1]
        # padding is on the right: no real token sees it anyway where the future is hidden, and who compiles is training
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
        """Return the same rule with another window, or without one."""
        return self if window == self.window else replace(self, window=window)

    @property
    def is_bounded(self) -> bool:
        """Whether the window hides anything."""
        return self.window is not None and self.window < self.n_keys

    @property
    def allows_everything(self) -> bool:
        """Whether no key is hidden from any query."""
        hides_later = self.is_causal and self.n_keys > self.n_past + 1
        return self.is_real is None and not self.is_bounded and not hides_later

    @property
    def is_causal_only(self) -> bool:
        """Whether the future is hidden and nothing else, from the first key on: what the fused kernel does itself."""
        return self.is_causal and not self.n_past and self.is_real is None and not self.is_bounded

    def write_out(self, queries: slice = slice(None), keys: slice = slice(None)) -> Bool[Tensor, "#batch 1 query key"]:
        """Return the mask as a matrix, or a window of it.

        Args:
            queries: which rows, as a slice of 0 to `n_queries`.
            keys: which columns, as a slice of 0 to `n_keys`.
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

    def within_reach(self, queries: slice) -> slice:
        """Return a range of keys outside of which none of some neighbouring queries may look.

        Args:
            queries: at least one, as a slice of 0 to `n_queries`.
        """
        asking = range(*queries.indices(self.n_queries))
        first, last = asking[0] + self.n_past, asking[-1] + self.n_past
        start, stop = 0, self.n_keys
        if self.window is not None:
            start, stop = max(0, first - self.window + 1), min(stop, last + self.window)
        return slice(start, min(stop, last + 1) if self.is_causal else stop)

    def to(self, device: torch.device | str) -> Self:
        """Return the same rule for another device."""
        is_real = None if self.is_real is None else self.is_real.to(device)
        return replace(self, device=torch.device(device), is_real=is_real)


def refuse_padding_inside(is_real: Bool[Tensor, "batch pos"]) -> None:
    """Check that padding is on the right only: positions are counted from the first place, whatever is there.

    Raises:
        TextError: padding stands before a token.
    """
    begins_late = (is_real[:, 1:] & ~is_real[:, :-1]).any(dim=1)
    if begins_late.any():
        raise TextError(
            "row {row} has padding before a token, which would get a wrong position; pad on the right only, or run "
            "the rows one at a time, without padding",
            row=int(begins_late.nonzero()[0]),
        )


def _real_ones(tokens: Tensor, pad_id: int | None, *, first_is_real: bool) -> Tensor | None:
    """Return where the real tokens are; None where all of them are real, if that may be looked at.

    Raises:
        TextError: padding stands before a token.
    """
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
