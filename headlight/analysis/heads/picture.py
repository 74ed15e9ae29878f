"""The picture of a head, or of several as one: in tokens or words, of a whole text or a window of it.

A picture has at most `MOST_CELLS` rows and columns; beyond that, each cell is the maximum of a block of cells.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Bool, Float

from headlight.analysis.texts.units import combine, merge_mask, merge_tokens
from transformer_core.errors import ConfigError
from transformer_core.text.words import word_labels

if TYPE_CHECKING:
    from headlight.analysis.trace.attention_maps import AttentionMaps

MOST_CELLS = 256  # rows and columns: more are narrower than a pixel or two

Quantity = Literal["pattern", "scores", "log", "values", "written"]
Hidden = Literal["special", "sinks"]
Span = tuple[int, int]
"""The first and the last of some neighbouring tokens."""


@dataclass(frozen=True, kw_only=True)
class HeadShare:
    """A head, and its weight in a mean of several heads."""

    layer: int
    head: int
    weight: float = 1.0


@dataclass(frozen=True, kw_only=True)
class ViewSpec:
    """The options of a picture."""

    heads: tuple[HeadShare, ...]  # one, or several, whose weighted mean is drawn
    quantity: Quantity = "pattern"
    in_words: bool = False  # no effect on scores, which cannot be summed
    hidden: frozenset[Hidden] = frozenset()
    renormalise: bool = False  # divide the visible part of each row by its sum; weights only
    window: tuple[Span, Span] | None = None  # of queries and of keys, in tokens; None: all


@dataclass(frozen=True, kw_only=True, eq=False)
class PictureAxis:
    """The queries or the keys of a picture: tokens, or words, one by one."""

    labels: tuple[str, ...]
    tokens: tuple[range, ...]  # for each label, its tokens in the whole text
    first: int  # position of the first label among those of the whole text

    def place(self, token: int | None) -> int | None:
        """Return the position, in the whole text, of the label that a token belongs to; None if it is not shown."""
        places = (i for i, tokens in enumerate(self.tokens) if token is not None and token in tokens)
        place = next(places, None)
        return None if place is None else place + self.first


@dataclass(frozen=True, kw_only=True, eq=False)
class HeadPicture:
    """The values to draw, and the tokens or words that their rows and columns stand for."""

    values: Float[np.ndarray, "row column"]
    mask: Bool[np.ndarray, "row column"]  # True = may attend
    queries: PictureAxis
    keys: PictureAxis
    blocks: tuple[int, int] | None  # queries and keys that the rows and columns stand for; None: one each
    largest: float | None  # of all cells of the text (of a long one, of the rows that are shown), where no range is set

    def token_of(self, query: int | None, key: int | None) -> tuple[int | None, int | None]:
        """Return the first token of a row and that of a column, given their positions in the whole text."""
        places = ((query, self.queries), (key, self.keys))
        query, key = (
            side.tokens[place - side.first].start
            if place is not None and 0 <= place - side.first < len(side.tokens)
            else None
            for place, side in places
        )
        return query, key


def picture(
    attention_maps: "AttentionMaps",
    spec: ViewSpec,
    *,
    labels: tuple[Sequence[str], Sequence[str]],
    words: tuple[Sequence[int], Sequence[int]],
    special: tuple[Sequence[bool], Sequence[bool]],
    most_cells: int = MOST_CELLS,
) -> HeadPicture:
    """Return the picture of an attention on a text.

    Args:
        attention_maps: of the attention.
        spec: the options of the picture.
        labels: of queries and keys.
        words: the number of the word that each query and each key belongs to.
        special: True for queries and keys that are special tokens.
        most_cells: rows and columns at most.

    Raises:
        ConfigError: the heads cannot be combined, or nothing is left to show.
    """
    n_queries, n_keys = attention_maps.shape[2:]
    spans = _slices(spec.window, n_queries, n_keys)
    hidden = _hidden(attention_maps, spec.hidden, special)
    in_words = spec.in_words and spec.quantity != "scores"
    numbers = words if in_words else (range(n_queries), range(n_keys))
    sides = [_Shown.of(*parts) for parts in zip(spans, hidden, labels, numbers, strict=True)]
    if not all(side.tokens for side in sides):
        raise ConfigError(
            "all tokens in this range are excluded; include special tokens and attention sinks again, or zoom out"
        )
    values, mask = _rows(attention_maps, spec, spans[0]), _mask(attention_maps, spec, spans[0])
    largest = None
    if spec.quantity in ("scores", "values", "written"):
        seen = slice(0, n_queries) if attention_maps.is_short else spans[0]
        of_all = values if seen == spans[0] else _rows(attention_maps, spec, seen)
        if in_words:  # a word is the sum of its keys, and may be larger than any of them
            of_all = merge_tokens(of_all, [word - words[0][seen.start] for word in words[0][seen]], words[1])
        largest = float(np.abs(of_all[np.isfinite(of_all)]).max(initial=0))
    elif spec.renormalise:
        left = np.where(hidden[1], 0, values)  # of all keys, those beside the window too
        total = left.sum(axis=1, keepdims=True)
        values = np.divide(left, total, out=np.zeros_like(left), where=total > 0)
    places = [token - spans[0].start for token in sides[0].tokens], sides[1].tokens
    values, mask = _cut_out(values, *places), _cut_out(mask, *places)
    if in_words:
        values, mask = merge_tokens(values, *(s.places for s in sides)), merge_mask(mask, *(s.places for s in sides))
    blocks = values.shape if max(values.shape) > most_cells else None
    values, mask = (_pooled(cells, most_cells) if blocks else cells.copy() for cells in (values, mask))
    queries, keys = (side.side() for side in sides)
    return HeadPicture(values=values, mask=mask, queries=queries, keys=keys, blocks=blocks, largest=largest)


def cell_in_all_heads(attention_maps: "AttentionMaps", queries: range, keys: range) -> Float[np.ndarray, "layer head"]:
    """Return the weight between two tokens, or two words, in every head: the sum over keys, the mean over queries."""
    rows = [attention_maps.row(query)[:, :, keys.start : keys.stop].sum(axis=-1) for query in queries]
    return np.mean(rows, axis=0)


@dataclass(frozen=True, kw_only=True)
class _Shown:
    """The visible tokens of one side, and the units (tokens or words) that they form."""

    tokens: list[int]
    places: tuple[int, ...]  # the unit that each belongs to: 0, 1, 2, ...
    labels: Sequence[str]
    first: int  # units before the first

    @classmethod
    def of(
        cls, span: slice, hidden: Bool[np.ndarray, " token"], labels: Sequence[str], numbers: Sequence[int]
    ) -> "_Shown":
        """Return the tokens of a side in a window, given the unit that each token belongs to."""
        tokens = [token for token in range(span.start, span.stop) if not hidden[token]]
        units = [numbers[token] for token in tokens]
        before = {numbers[token] for token in range(span.start) if not hidden[token]} - {*units[:1]}
        order = {unit: place for place, unit in enumerate(dict.fromkeys(units))}
        return cls(
            tokens=tokens,
            places=tuple(order[unit] for unit in units),
            labels=[labels[token] for token in tokens],
            first=len(before),
        )

    def side(self) -> PictureAxis:
        """Return the axis, with a label for each unit."""
        ranges: list[range] = []
        for token, place in zip(self.tokens, self.places, strict=True):
            start = ranges.pop().start if place < len(ranges) else token
            ranges.append(range(start, token + 1))
        is_merged = len(ranges) < len(self.tokens)
        labels = word_labels(self.labels, self.places) if is_merged else self.labels
        return PictureAxis(labels=tuple(labels), tokens=tuple(ranges), first=self.first)


def _slices(window: tuple[Span, Span] | None, n_queries: int, n_keys: int) -> tuple[slice, slice]:
    """Return the queries and keys of a window; all, if it is beyond the text."""
    spans = []
    for n, (first, last) in zip((n_queries, n_keys), window or ((0, n_queries - 1), (0, n_keys - 1)), strict=True):
        spans.append(slice(first, min(last + 1, n)) if first < n else slice(0, n))
    return spans[0], spans[1]


def _hidden(
    attention_maps: "AttentionMaps", hidden: frozenset[Hidden], special: tuple[Sequence[bool], Sequence[bool]]
) -> tuple[Bool[np.ndarray, " query"], Bool[np.ndarray, " key"]]:
    """Return which queries and which keys are left out: special ones on both sides, sinks among the keys."""
    queries, keys = (np.array(side, dtype=bool) & ("special" in hidden) for side in special)
    return queries, keys | attention_maps.sinks if "sinks" in hidden else keys


def _rows(attention_maps: "AttentionMaps", spec: ViewSpec, queries: slice) -> Float[np.ndarray, "query key"]:
    """Return the quantity of one head, or of several as one, for some queries and all keys.

    For a long text, only one head at a time is held in memory.

    Raises:
        ConfigError: the head weights allow no weighted mean.
    """
    if len(spec.heads) == 1:
        return _of_head(attention_maps, spec.quantity, spec.heads[0], queries)
    weights = np.array([share.weight for share in spec.heads], dtype=np.float64)
    (shares,) = combine(np.eye(len(weights))[:, None], weights)  # the mean of heads of which each is a unit vector
    values = np.zeros((queries.stop - queries.start, attention_maps.shape[3]), dtype=np.float32)
    for head, share in zip(spec.heads, shares.tolist(), strict=True):
        if share:  # a score of -inf has no product with 0
            values += share * _of_head(attention_maps, spec.quantity, head, queries)
    return values


def _mask(attention_maps: "AttentionMaps", spec: ViewSpec, queries: slice) -> Bool[np.ndarray, "query key"]:
    """Return, for some queries and all keys, where any of the heads may attend.

    For scores, return where all of them may, because a mean that includes -inf is -inf.
    """
    heads = [share for share in spec.heads if share.weight] if len(spec.heads) > 1 else spec.heads
    masks = [attention_maps.mask(layer, queries) for layer in {share.layer for share in heads}]
    return np.all(masks, axis=0) if spec.quantity == "scores" else np.any(masks, axis=0)


def _of_head(
    attention_maps: "AttentionMaps", quantity: Quantity, share: HeadShare, queries: slice
) -> Float[np.ndarray, "query key"]:
    if quantity == "scores":
        return attention_maps.scores(share.layer, share.head, queries)
    pattern = attention_maps.pattern(share.layer, share.head, queries)
    norms = {"values": attention_maps.value_norms, "written": attention_maps.written_norms}
    return pattern * norms[quantity][share.layer, share.head] if quantity in norms else pattern


def _cut_out(cells: np.ndarray, rows: Sequence[int], columns: Sequence[int]) -> np.ndarray:
    """Return some rows and columns, without a copy where they are neighbours."""
    if all(places[-1] - places[0] < len(places) for places in (rows, columns)):
        return cells[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    return cells[np.ix_(rows, columns)]


def _pooled(cells: np.ndarray, most: int) -> np.ndarray:
    """Return the largest of each block of rows and columns, as `instrument.pooling` cuts them."""
    rows, columns = ([block * n // min(n, most) for block in range(min(n, most) + 1)] for n in cells.shape)
    of_rows = [cells[start:stop].max(axis=0) for start, stop in pairwise(rows)]  # far quicker than reduceat along it
    return np.maximum.reduceat(np.stack(of_rows), columns[:-1], axis=1)
