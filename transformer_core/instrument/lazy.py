"""Lazy patterns: an attention pattern that is computed on demand.

Only queries, keys and the rules of mask and position bias are kept, in memory linear in the length n. The pattern
itself, n x n per head, is computed for a chunk of queries at a time, and only the requested part is returned.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from transformer_core.errors import ConfigError, Message, SiteError
from transformer_core.instrument.pooling import Overview, Reduce
from transformer_core.model.attention import PatternInputs, attention_pattern, attention_scores
from transformer_core.model.distance_bias import PositionBias
from transformer_core.model.masks import AttentionMask

_CHUNK_BYTES = 8 << 20  # of scores computed at a time
_FLAT_ROWS = 128  # of one head: with fewer rows at a time, its products take longer


class LazyPattern:
    """A pattern [batch, head, query, key], as a forward pass used it, including edits of it or of its mask.

    Computing any part takes about 30 MiB besides the result; more only if one row of all requested heads is larger
    than 8 MiB. All parts equal those of the full pattern, up to rounding. If another handler read or edited the scores
    or the pattern in the same forward pass, the pattern has already been computed, and is kept.
    """

    def __init__(self, source: PatternInputs, *, detach: bool = True) -> None:
        """Keep the inputs of the pattern; `detach`: detach them from the autograd graph."""

        def own(x: Tensor) -> Tensor:
            x = x.detach() if detach else x
            is_part = x.untyped_storage().nbytes() > x.numel() * x.element_size()  # of a cache that will be overwritten
            return x.clone() if is_part else x

        mask = replace(source.mask) if isinstance(source.mask, AttentionMask) else source.mask  # without its matrix
        self._mask, self._scale, self._cap = mask, source.scale, source.cap
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
        self._overviews: dict[tuple[int, ...], Tensor] = {}  # [batch, head, row, column], by their size

    @property
    def n_bytes(self) -> int:
        """The memory that it holds, in bytes."""
        mask = self._mask.is_real if isinstance(self._mask, AttentionMask) else self._mask
        bias = None if self._bias is None else self._bias.by_distance
        kept = (self._q, self._k, mask, bias, self._written, *self._overviews.values())
        return sum(x.numel() * x.element_size() for x in kept if x is not None)

    def full(self) -> Float[Tensor, "batch head query key"]:
        """Return the full pattern."""
        full = self._like.new_zeros(self.shape)
        for row in range(self.shape[0]):
            for queries, keys, part in self.chunks(row):
                full[row, :, queries, keys] = part
        return full

    def head(self, head: int, batch: int = 0) -> Float[Tensor, "query key"]:
        """Return the pattern of one head; see `window`."""
        return self.window(head, batch=batch)

    def window(
        self, head: int, queries: slice = slice(None), keys: slice = slice(None), batch: int = 0
    ) -> Float[Tensor, "query key"]:
        """Return some rows and columns of one head's pattern.

        Args:
            head: from 0.
            queries: contiguous rows, a slice without a step.
            keys: contiguous columns, likewise.
            batch: index of the text.

        Raises:
            SiteError: there is no such head or text.
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
            SiteError: there is no such head or text, or the pattern was edited and so has no scores.
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
        q, k = q[None, None], k[None, None]
        return attention_scores(q, k, allowed, bias=bias, scale=self._scale, cap=self._cap)[0, 0]

    def mask_window(
        self, head: int, queries: slice = slice(None), keys: slice = slice(None), batch: int = 0
    ) -> Bool[Tensor, "query key"]:
        """Return some rows and columns of one head's mask, True = may attend; arguments and errors as for `window`."""
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
        """Return an overview: the pattern pooled over blocks of queries and keys.

        With n queries and r rows, row i covers queries floor(i n / r) to floor((i + 1) n / r) - 1; columns likewise.

        Args:
            size: rows and columns; at most the numbers of queries and keys.
            reduce: "max" or "mean" of each block, masked cells included (they are 0): so a row of means, times the
                numbers of keys of the columns, sums to 1 as the pattern's rows do.
            heads: in the order of the result; None: all.
            batch: index of the text.

        Raises:
            SiteError: there is no such head or text.
            ConfigError: a size below 1.
        """
        if heads is None and reduce == "max" and tuple(size) in self._overviews:
            self._check(batch, ())
            return self._overviews[tuple(size)][batch].clone()
        return self._pooled(size, reduce, heads, batch)

    @torch.no_grad()
    def attend(
        self, values: Float[Tensor, "batch head key d_head"], size: tuple[int, int]
    ) -> Float[Tensor, "batch head query d_head"]:
        """Return the sums of the values weighted by the pattern, and keep its overview of a size for `pooled`.

        Raises:
            ConfigError: a size below 1.
        """
        z = values.new_empty(*self.shape[:3], values.shape[-1])
        texts = [self._pooled(size, "max", None, batch, values, z) for batch in range(self.shape[0])]
        self._overviews[tuple(size)] = torch.stack(texts)
        return z

    def _pooled(
        self,
        size: tuple[int, int],
        reduce: Reduce,
        heads: Sequence[int] | None,
        batch: int,
        values: Tensor | None = None,
        z: Tensor | None = None,
    ) -> Float[Tensor, "head row column"]:
        """Return an overview; with values, write their weighted sums to `z`."""
        heads = range(self.shape[1]) if heads is None else heads
        self._check(batch, heads)
        like = self._like
        overviews = []
        for some in self.few_at_a_time(heads):
            overview = Overview((len(some), *self.shape[2:]), size, reduce, dtype=like.dtype, device=like.device)
            here = _contiguous(some)
            for queries, keys, part in self.chunks(batch, some):
                overview.add(part, queries, keys)
                if values is not None and z is not None:
                    z[batch, here, queries] = part @ values[batch, here, keys]
            overviews.append(overview.finished())
        return torch.cat(overviews)

    def few_at_a_time(self, heads: Sequence[int] | None = None) -> Iterator[Sequence[int]]:
        """Yield the heads in groups, small for long texts: each gets enough rows at a time for fast products."""
        heads = range(self.shape[1]) if heads is None else heads
        n = max(1, _CHUNK_BYTES // (_FLAT_ROWS * self.shape[3] * self._like.element_size()))
        for first in range(0, len(heads), n):
            yield heads[first : first + n]

    def chunks(
        self, batch: int = 0, heads: Sequence[int] | None = None, queries: slice = slice(None)
    ) -> Iterator[tuple[slice, slice, Float[Tensor, "head query key"]]]:
        """Yield the rows of some queries in chunks: queries, keys, and their pattern, which is 0 at all other keys.

        Args:
            batch: index of the text.
            heads: in the order of the result; None: all.
            queries: contiguous rows.

        Raises:
            SiteError: there is no such head or text.
            ConfigError: a slice with a step.
        """
        heads = range(self.shape[1]) if heads is None else heads
        self._check(batch, heads)
        queries = _whole(queries, self.shape[2])
        n_heads, n_keys = self.shape[1], self.shape[3]
        n_rows = max(1, _CHUNK_BYTES // (self._like.element_size() * len(heads) * n_keys))
        chosen = _contiguous(heads)
        if self._q is not None and self._k is not None:
            q = self._q[batch : batch + 1, chosen]
            group = n_heads // self._k.shape[1]  # query heads per key head
            k = self._k[batch : batch + 1, chosen if group == 1 else _contiguous([head // group for head in heads])]
        for first in range(queries.start, queries.stop, n_rows):
            rows, keys, n_open = slice(first, min(first + n_rows, queries.stop)), slice(0, n_keys), 0
            if self._written is not None:
                yield rows, keys, self._written[batch, :, rows][chosen]
                continue
            if isinstance(self._mask, AttentionMask):
                keys, n_open = self._mask.within_reach(rows), self._mask.n_open(rows)
            bias = None if self._bias is None else self._bias.window(chosen, rows, keys).to(q.dtype)
            # a mask of the first keys, which all of these queries may attend to, takes time
            allowed = self._allowed(batch, heads, rows, slice(keys.start + n_open, keys.stop))
            scores = partial(self._scores, q[:, :, rows], k[:, :, keys], bias, allowed, n_open)
            yield rows, keys, attention_pattern(scores(), again=scores)[0]

    def _scores(
        self, q: Tensor, k: Tensor, bias: Tensor | None, allowed: Tensor | None, n_open: int
    ) -> Float[Tensor, "1 head query key"]:
        """Return scores with the mask `allowed` of all keys but the first `n_open`."""
        scores = attention_scores(q, k, bias=bias, scale=self._scale, cap=self._cap)
        if allowed is not None:
            scores[..., n_open:].masked_fill_(~allowed, -torch.inf)
        return scores

    def _allowed(
        self, batch: int, heads: Sequence[int], queries: slice, keys: slice
    ) -> Bool[Tensor, "1 #head query key"] | None:
        """Return a window of the mask of one text; None if everything is allowed."""
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
        """A tensor of the pattern's type and device."""
        like = self._q if self._q is not None else self._written
        assert like is not None, "either the pattern is there, or its inputs"
        return like

    def _check(self, batch: int, heads: Sequence[int]) -> None:
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
    """The position bias at every distance between key and query: a copy, linear in the length.

    A rounded bias has no parameters and depends on the positions, so it is computed when it is needed.
    """

    def __init__(self, rule: PositionBias, detach: bool) -> None:
        self.rounded = rule if rule.is_rounded else None
        self.n_past, self.furthest_back = rule.n_past, rule.n_past + rule.n_queries - 1
        distance = torch.arange(-self.furthest_back, rule.n_keys - rule.n_past, device=rule.device)
        by_distance = rule.of_distance(distance[None])[:, 0]  # [head, distance]
        self.by_distance = by_distance.detach() if detach else by_distance

    def window(self, heads: slice | list[int], queries: slice, keys: slice) -> Float[Tensor, "1 head query key"]:
        """Return the bias of some scores."""
        if self.rounded is not None:
            return self.rounded.write_out(queries, keys)[:, heads]
        nearest = keys.start - self.n_past + self.furthest_back  # the first key's index, from query 0
        firsts = nearest - torch.arange(queries.start, queries.stop, device=self.by_distance.device)
        return self.by_distance[heads].unfold(-1, keys.stop - keys.start, 1)[None, :, firsts]


def _whole(part: slice, n: int) -> slice:
    """Return a slice with an explicit start and stop."""
    if part.step not in (None, 1):
        raise ConfigError("slices of a window must have step 1, got {step}", step=part.step)
    start, stop, _ = part.indices(n)
    return slice(start, max(start, stop))


def _contiguous(indices: Sequence[int]) -> slice | list[int]:
    """Return a slice if the indices are contiguous, as an index by a list copies."""
    start, stop = indices[0], indices[-1] + 1
    return slice(start, stop) if list(indices) == list(range(start, stop)) else list(indices)


def _moved(part: slice, origin: int) -> slice:
    """Return a slice relative to an origin."""
    return slice(part.start - origin, part.stop - origin)
