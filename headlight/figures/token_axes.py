"""Axes of tokens: integer positions with tick text, so that repeated tokens stay apart, and places in words."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from headlight.figures.labels import LINE, escape, isolate, shorten, text_width
from headlight.figures.layout import axis_title, figure_layout, label_axis
from headlight.figures.theme import KEY, QUERY
from transformer_core.cached_property import cached_property
from transformer_core.errors import mark
from transformer_core.language import say
from transformer_core.text.labels import border_in

WIDTH, HEIGHT = 600, 540  # px
_TITLE = 24  # px: the height of a title
_SIZES = ((13, 20), (11, 14), (10, 12.5), (9, 11.5), (8, 10), (7, 9))  # px: of labels, and from one to the next
_SLANTED = 1.65  # sizes from one slanted label to the next
_BLOCK_LABEL = 64  # px from one number to the next on the axis of an overview
_HUES = {"query": QUERY, "key": KEY}
_FORMS = {  # of one place in words, and of several
    "query": (mark("query {place} '{token}'"), mark("queries {first} to {last}")),
    "key": (mark("key {place} '{token}'"), mark("keys {first} to {last}")),
}


@dataclass(frozen=True, kw_only=True)
class Places:
    """The queries or the keys that the rows or the columns of a grid stand for: one each, or neighbours each."""

    kind: Literal["query", "key"]
    tokens: Sequence[str]  # the labels of all places, from the first on
    n_cells: int  # fewer than tokens in an overview: cell i of m stands for the n tokens from i * n // m on
    first: int = 0  # the place of the first token in the whole text

    @cached_property
    def starts(self) -> list[int]:
        """Where each cell begins, and where the last one ends, as places in the whole text."""
        n = len(self.tokens)
        return [self.first + cell * n // max(self.n_cells, 1) for cell in range(self.n_cells + 1)]

    @property
    def is_pooled(self) -> bool:
        """Whether a cell stands for several places."""
        return self.n_cells < len(self.tokens)

    @cached_property
    def border(self) -> float | None:
        """Where the cell begins that has the first token of a second text; None where that is not seen."""
        place = border_in(self.tokens)
        edges = self.around(None if not place else self.first + place)
        return None if edges is None else edges[0]

    @property
    def ends(self) -> tuple[float, float]:
        """The two ends of the axis."""
        return self.first - 0.5, self.first + len(self.tokens) - 0.5

    @cached_property
    def words(self) -> list[str]:
        """Each cell in words: ``query 3 'sat'``, or ``queries 128 to 143`` in an overview; without markup."""
        one, many = (say(form) for form in _FORMS[self.kind])  # once: there are thousands
        return [
            one.format(place=start, token=escape(isolate(self.tokens[start - self.first])))
            if end - start == 1
            else many.format(first=start, last=end - 1)
            for start, end in zip(self.starts, self.starts[1:], strict=False)
        ]

    def coordinates(self, axis: Literal["x", "y"]) -> dict[str, Any]:
        """Return where the cells of a heatmap lie, for its trace; nothing where plotly's own counting is right."""
        if self.is_pooled:
            return {axis: [start - 0.5 for start in self.starts]}
        return {f"{axis}0": self.first, f"d{axis}": 1} if self.first else {}

    def around(self, place: int | None) -> tuple[float, float] | None:
        """Return the two edges of the cell that a place of the whole text lies in; None where it is not seen."""
        if place is None:
            return None
        inside = (
            (start - 0.5, end - 0.5)
            for start, end in zip(self.starts, self.starts[1:], strict=False)
            if start <= place < end
        )
        return next(inside, None)

    def axis(self, name: str, *, room: int | float, apart: int = LINE, chosen: int | None = None) -> dict[str, Any]:
        """Return an axis of integer positions with tokens as tick text; with numbers in an overview, or in little room.

        Args:
            name: what the places are, for the title.
            room: px that all of them share; where it is short, labels become smaller before numbers take their place.
            apart: px from one label to the next that a size of 11 px takes.
            chosen: a place that has its token beside its number.
        """
        pitch = room / max(len(self.tokens), 1)
        sizes = [(size, line * apart / LINE) for size, line in _SIZES]
        smallest, least = sizes[-1]
        if self.is_pooled:
            positions = _round_places(self.starts[0], self.starts[-1], _BLOCK_LABEL / pitch)
            texts, where = [str(position) for position in positions], say(", position in the text")
        else:
            positions, texts = [*range(self.first, self.starts[-1])], [escape(shorten(token)) for token in self.tokens]
            if pitch < least and len(texts) > 1:
                labels = dict(zip(positions, texts, strict=True))
                positions = _round_places(self.first, self.starts[-1], 2 * least / max(pitch, 0.01))
                if chosen in labels:
                    away = (place for place in positions if abs(place - chosen) * pitch >= least)
                    positions = sorted({chosen, *away})
                texts = [f"{place} {labels[place]}" if place == chosen else str(place) for place in positions]
            where = say(", {first} to {last}", first=self.first, last=self.starts[-1] - 1) if self.first else ""
        title = axis_title(f"<b>{escape(say(name))}</b>{where}", size=13, standoff=6, hue=_HUES[self.kind])
        size = next((size for size, line in sizes if line <= pitch), smallest)
        axis = label_axis(positions, texts, size=size, title=title, ticklabelstandoff=3)
        return axis | {"ticks": "outside" if self.is_pooled else ""}

    def legend(self, axis: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the numbers of an axis stand for: the first place and all tokens; nothing where they stand there.

        It belongs into the layout, ``meta["tokens"]``, by the name of the axis: the browser writes the tokens along the
        axis where it has the room, and else beside the figure.
        """
        if len(axis["tickvals"]) == len(self.tokens):
            return {}
        return {"first": self.first, "labels": [escape(shorten(token)) for token in self.tokens]}


def token_legends(**axes: tuple[Places, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the part of a layout's ``meta`` that names its axes of tokens, which may be numbers themselves.

    Each has its legend, see `Places.legend`.
    """
    return {"tokens": {name: places.legend(axis) for name, (places, axis) in axes.items() if not places.is_pooled}}


def grid_places(
    shape: tuple[int, int],
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    first_query: int = 0,
    first_key: int = 0,
    blocks: tuple[int, int] | None = None,
) -> tuple[Places, Places]:
    """Return the places of a grid's rows and columns.

    Args:
        shape: rows and columns.
        query_tokens: the labels of all queries.
        key_tokens: the labels of all keys.
        first_query: the place of the first query in the whole text.
        first_key: that of the first key.
        blocks: how many queries and keys an overview stands for; None: as many as there are rows and columns.

    Raises:
        ValueError: the labels do not fit.
    """
    n_queries, n_keys = blocks or shape
    if (len(query_tokens), len(key_tokens)) != (n_queries, n_keys):
        raise ValueError(
            f"The pattern has {n_queries} queries and {n_keys} keys, but there are {len(query_tokens)} query labels "
            f"and {len(key_tokens)} key labels; give one label a row and one a column."
        )
    return (
        Places(kind="query", tokens=query_tokens, n_cells=shape[0], first=first_query),
        Places(kind="key", tokens=key_tokens, n_cells=shape[1], first=first_key),
    )


def grid_layout(
    queries: Places,
    keys: Places,
    *,
    title: str,
    query_name: str,
    key_name: str,
    width: int,
    height: int,
    number: int = 24,
    marked: tuple[int | None, int | None] = (None, None),
) -> dict[str, Any]:
    """Return the layout of a grid of cells, query rows and key columns, but for its colors.

    Args:
        queries: the rows, from top to bottom.
        keys: the columns, from left to right.
        title: names the quantity, and the head.
        query_name: what the rows are, for the axis title.
        key_name: what the columns are, for the axis title.
        width: px that the figure is laid out for.
        height: px.
        number: px: the width of a number in a cell.
        marked: a query and a key that are named where the others are numbered, as places in the whole text.
    """
    longest = 0.0 if keys.is_pooled else max((text_width(shorten(token)) for token in keys.tokens), default=0.0)
    pitch = width / max(keys.n_cells, 1)
    columns = keys.axis(key_name, room=width, chosen=marked[1])
    size = columns["tickfont"]["size"]
    angle = 0 if longest <= 0.8 * pitch else -45 if pitch >= _SLANTED * size else -90
    long = longest * size / _SIZES[0][0]  # px, of the longest label as it is written
    top = 2 * _TITLE + {0: LINE, -45: (long + LINE) / math.sqrt(2) + 12, -90: long + 12}[angle]
    low, high = queries.ends
    rows = queries.axis(query_name, room=height * 0.75, chosen=marked[0])
    return figure_layout(say(title), height=height, margin=(8, 8, top, 8)) | {
        "meta": {"textFromWidth": 140 + number * keys.n_cells}  # px, for drawing in a narrow place
        | token_legends(xaxis=(keys, columns), yaxis=(queries, rows))
        | ({} if marked == (None, None) else {"chosen": {"xaxis": marked[1], "yaxis": marked[0]}}),
        "xaxis": columns | {"side": "top", "range": list(keys.ends), "tickangle": angle},
        "yaxis": rows | {"range": [high, low], "automargin": True},
    }


def _round_places(first: int, stop: int, apart: float) -> list[int]:
    """Return round numbers from `first` on, at least `apart` places from each other."""
    steps = (digit * 10**power for power in range(12) for digit in (1, 2, 5))
    step = next(step for step in steps if step >= apart)
    return list(range(-(-first // step) * step, stop, step))
