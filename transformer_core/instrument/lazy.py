"""Lazy patterns: an attention pattern that is computed on demand.

What is kept of a pattern over n positions are its queries and keys and the rules of its mask and its positions' bias:
memory that grows with n. The pattern itself, n x n for each head, is computed for a chunk of queries at a time, over
all of their keys, and only what was asked for is put together.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from transformer_core.errors import ConfigError, Message, SiteError
from transformer_core.instrument.pooling import Overview, Reduce
from transformer_core.model.attention import PatternInputs, attention_pattern, attention_scores
from transformer_core.model.distance_bias import PositionBias
from transformer_core.model.masks import AttentionMask

_CHUNK_BYTES = 4 << 20  # scores that are computed at a time; with their softmax, some five times as much is in use


class LazyPattern:
    """A pattern [batch, head, query, key], as a forward used it: edits of it, or of its mask, are in it.

    Whatever is asked for, some 25 MiB beside the answer are in use while it is computed; more only where one row of all
    the heads asked for is longer than 4 MiB.

    All parts equal those of the pattern written out, but for rounding. Where another handler read or edited scores or
    pattern in the same forward, the pattern was computed already, and is kept as it is.
    """

    def __init__(self, source: PatternInputs, *, detach: bool = True) -> None:
        """Keep what the pattern is made of.

        Args:
            source: the ingredients, as attention hands them out.
            detach: cut them off from the graph of gradients.
        """

        def own(x: Tensor) -> Tensor:
            x = x.detach() if detach else x
            is_part = x.untyped_storage().nbytes() > x.numel() * x.element_size()  # of a cache, which will be rewritten
            return x.clone() if is_part else x

        self._mask, self._scale = source.mask, source.scale
        self._written: Tensor | None = None
        self._q: Tensor | None = None
        self._k: Tensor | None = None
        self._bias: _BiasByDistance | None = None
        if source.pattern is not None:
            self._written = own(source.pattern)
        else:
            self._q, self._k = own(source.q), own(source.k)
            self._bias = None if source.bias is None else _BiasByDistance(source.bias, detach)
        self.shape: tuple[int, int, int, int] = (*source.q.shape[:3], source.k.shape[2])

    @property
    def n_bytes(self) -> int:
        """Memory that is kept, in bytes."""
        mask = self._mask.is_real if isinstance(self._mask, AttentionMask) else self._mask
        bias = None if self._bias is None else self._bias.by_distance
        kept = (self._q, self._k, mask, bias, self._written)
        return sum(x.numel() * x.element_size() for x in kept if x is not None)

    def full(self) -> Float[Tensor, "batch head query key"]:
        """Return all of it, n x n for each head."""
        full = self._like.new_zeros(self.shape)
        for row in range(self.shape[0]):
            for queries, keys, part in self.chunks(row):
                full[row, :, queries, keys] = part
        return full

    def head(self, head: int, batch: int = 0) -> Float[Tensor, "query key"]:
        """Return the pattern of one head.

        Raises:
            SiteError: a head or a text that is not there.
        """
        return self.window(head, batch=batch)

    def window(
        self, head: int, queries: slice = slice(None), keys: slice = slice(None), batch: int = 0
    ) -> Float[Tensor, "query key"]:
        """Return some rows and columns of one head's pattern.

        Args:
            head: which.
            queries: neighbouring rows, as a slice without a step; as always, its ends are cut to those of the pattern.
            keys: neighbouring columns, likewise.
            batch: which text.

        Raises:
            SiteError: a head or a text that is not there.
            ConfigError: a slice with a step.
        """
        self._check(batch, (head,))
        queries, keys = _whole(queries, self.shape[2]), _whole(keys, self.shape[3])
        window = self._like.new_zeros(queries.stop - queries.start, keys.stop - keys.start)
        for rows, columns, part in self.chunks(batch, (head,), queries):
            start, stop = max(columns.start, keys.start), min(columns.stop, keys.stop)
            if start < stop:
                inside = part[0, :, start - columns.start : stop - columns.start]
                window[_moved(rows, queries.start), start - keys.start : stop - keys.start] = inside
        return window

    def scores_window(
        self, head: int, queries: slice = slice(None), keys: slice = slice(None), batch: int = 0
    ) -> Float[Tensor, "query key"]:
        """Return some rows and columns of one head's scores, -inf where the mask forbids; arguments as for `window`.

        Raises:
            SiteError: a head or a text that is not there, or a pattern that was edited, which has no scores of its own.
            ConfigError: a slice with a step.
        """
        self._check(batch, (head,))
        if self._q is None or self._k is None:
            raise SiteError("this pattern was edited, so it has no scores; show the pattern, or remove the edit")
        queries, keys = _whole(queries, self.shape[2]), _whole(keys, self.shape[3])
        group = self.shape[1] // self._k.shape[1]
        q, k = self._q[batch, head, queries], self._k[batch, head // group, keys]
        bias = None if self._bias is None else self._bias.window([head], queries, keys).to(q.dtype)
        allowed = self._allowed(batch, (head,), queries, keys)
        return attention_scores(q[None, None], k[None, None], allowed, bias=bias, scale=self._scale)[0, 0]

    def mask_window(
        self, head: int, queries: slice = slice(None), keys: slice = slice(None), batch: int = 0
    ) -> Bool[Tensor, "query key"]:
        """Return some rows and columns of one head's mask, True = may attend; arguments as for `window`.

        Raises:
            SiteError: a head or a text that is not there.
            ConfigError: a slice with a step.
        """
        self._check(batch, (head,))
        queries, keys = _whole(queries, self.shape[2]), _whole(keys, self.shape[3])
        allowed = self._allowed(batch, (head,), queries, keys)
        if allowed is None:
            shape = queries.stop - queries.start, keys.stop - keys.start
            return torch.ones(shape, dtype=torch.bool, device=self._like.device)
        return allowed[0, 0]

    @torch.no_grad()
    def pooled(
        self,
        size: tuple[int, int] = (256, 256),
        reduce: Reduce = "max",
        heads: Sequence[int] | None = None,
        batch: int = 0,
    ) -> Float[Tensor, "head row column"]:
        """Return an overview: queries and keys in equal chunks, and one number for each block of both.

        Of n queries in r rows, row i stands for queries floor(i n / r) to floor((i + 1) n / r) - 1: chunks differ by
        one position at most, and each position is in one of them. Columns likewise.

        Args:
            size: rows and columns; where there are fewer queries or keys than that, each has its own.
            reduce: the largest number of a block, or the mean of all of them, those that the mask forbids included
                (they are 0): so a row of means, times the keys of each column, sums to 1 as the pattern's rows do.
            heads: which, in the order of the answer; None: all.
            batch: which text.

        Raises:
            SiteError: a head or a text that is not there.
            ConfigError: a size below 1.
        """
        heads = range(self.shape[1]) if heads is None else heads
        self._check(batch, heads)
        like = self._like
        overview = Overview((len(heads), *self.shape[2:]), size, reduce, dtype=like.dtype, device=like.device)
        for queries, keys, part in self.chunks(batch, heads):
            overview.add(part, queries, keys)
        return overview.finished()

    def chunks(
        self, batch: int = 0, heads: Sequence[int] | None = None, queries: slice = slice(None)
    ) -> Iterator[tuple[slice, slice, Float[Tensor, "head query key"]]]:
        """Yield some queries' rows, one chunk after the other: queries, keys, and what lies there; elsewhere is 0.

        Args:
            batch: which text.
            heads: which, in the order of the answer; None: all.
            queries: neighbouring rows.

        Raises:
            SiteError: a head or a text that is not there.
            ConfigError: a slice with a step.
        """
        heads = range(self.shape[1]) if heads is None else heads
        self._check(batch, heads)
        queries = _whole(queries, self.shape[2])
        n_heads, n_keys = self.shape[1], self.shape[3]
        n_rows = max(1, _CHUNK_BYTES // (self._like.element_size() * len(heads) * n_keys))
        chosen = slice(None) if list(heads) == list(range(n_heads)) else list(heads)
        if self._q is not None and self._k is not None:
            q = self._q[batch : batch + 1, chosen]
            group = n_heads // self._k.shape[1]  # heads of queries that share a head of keys
            k = self._k[batch : batch + 1, chosen if group == 1 else [head // group for head in heads]]
        for first in range(queries.start, queries.stop, n_rows):
            rows, keys = slice(first, min(first + n_rows, queries.stop)), slice(0, n_keys)
            if self._written is not None:
                yield rows, keys, self._written[batch, :, rows][chosen]
                continue
            if isinstance(self._mask, AttentionMask):
                keys = self._mask.within_reach(rows)
            bias = None if self._bias is None else self._bias.window(chosen, rows, keys).to(q.dtype)
            allowed = self._allowed(batch, heads, rows, keys)
            scores = attention_scores(q[:, :, rows], k[:, :, keys], allowed, bias=bias, scale=self._scale)
            yield rows, keys, attention_pattern(scores)[0]

    def _allowed(
        self, batch: int, heads: Sequence[int], queries: slice, keys: slice
    ) -> Bool[Tensor, "1 #head query key"] | None:
        """Return a window of the mask of one text; None where everything is allowed."""
        mask = self._mask
        if mask is None or (isinstance(mask, AttentionMask) and mask.allows_everything):
            return None
        if isinstance(mask, AttentionMask):
            is_real = None if mask.is_real is None else mask.is_real[batch : batch + 1]
            return replace(mask, is_real=is_real).write_out(queries, keys)
        own = mask.expand(self.shape[0], -1, *self.shape[2:])[batch : batch + 1, :, queries, keys]
        return own if own.shape[1] == 1 else own[:, list(heads)]

    @property
    def _like(self) -> Tensor:
        """A tensor of the pattern's type, where it lies."""
        like = self._q if self._q is not None else self._written
        assert like is not None, "either the pattern is there, or what it is made of"
        return like

    def _check(self, batch: int, heads: Sequence[int]) -> None:
        """Check that a text and some heads are there."""
        for what, n, chosen in ((Message("text"), self.shape[0], (batch,)), (Message("head"), self.shape[1], heads)):
            for index in chosen:
                if not 0 <= index < n:
                    raise SiteError(
                        "there is no {what} {index} in this pattern of {n}; the last is {last}",
                        what=what,
                        index=index,
                        n=n,
                        last=n - 1,
                    )


class _BiasByDistance:
    """The bias of positions for each distance there is: a copy, as large as the text is long."""

    def __init__(self, rule: PositionBias, detach: bool) -> None:
        """Write the rule out for every distance of a key and a query."""
        self.n_past, self.furthest_back = rule.n_past, rule.n_past + rule.n_queries - 1
        distance = torch.arange(-self.furthest_back, rule.n_keys - rule.n_past, device=rule.device)
        by_distance = rule.of_distance(distance[None])[:, 0]  # [head, distance]
        self.by_distance = by_distance.detach() if detach else by_distance

    def window(self, heads: slice | list[int], queries: slice, keys: slice) -> Float[Tensor, "1 head query key"]:
        """Return what is added to some scores."""
        nearest = keys.start - self.n_past + self.furthest_back  # the first key's place, seen from query 0
        firsts = nearest - torch.arange(queries.start, queries.stop, device=self.by_distance.device)
        return self.by_distance[heads].unfold(-1, keys.stop - keys.start, 1)[None, :, firsts]


def _whole(part: slice, n: int) -> slice:
    """Return a slice with both ends written out.

    Raises:
        ConfigError: it has a step.
    """
    if part.step not in (None, 1):
        raise ConfigError("slices of a window must have step 1, got {step}", step=part.step)
    start, stop, _ = part.indices(n)
    return slice(start, max(start, stop))


def _moved(part: slice, origin: int) -> slice:
    """Return a slice as seen from an origin."""
    return slice(part.start - origin, part.stop - origin)
