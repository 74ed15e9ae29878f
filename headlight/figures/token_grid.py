"""Grids of tokens: integer positions with tokens as tick text, so that each repeated token has its own place."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

from headlight.figures.elements import axis_title, figure_layout, label_axis
from headlight.figures.labels import LINE, escape, isolate, shorten, text_width
from headlight.figures.theme import KEY, QUERY
from headlight.language import say
from transformer_core.cached_property import cached_property
from transformer_core.errors import mark
from transformer_core.text.labels import border_in

HEIGHT = 540  # px
_TITLE = 24  # px: the height of a title
_SIZES = ((13, 20), (11, 14), (10, 12.5), (9, 11.5), (8, 10), (7, 9))  # px: font size of labels, and their spacing
_SLANTED = 1.65  # spacing of slanted labels, in font sizes
_BLOCK_LABEL = 64  # px from one number to the next on the axis of an overview
_HUES = {"query": QUERY, "key": KEY}
_FORMS = {  # names of one position and of several
    "query": (mark("query {place} '{token}'"), mark("queries {first} to {last}")),
    "key": (mark("key {place} '{token}'"), mark("keys {first} to {last}")),
}


@dataclass(frozen=True, kw_only=True)
class TokenAxis:
    """The rows or the columns of a grid: one token each, or in an overview a block of neighbouring tokens each."""

    kind: Literal["query", "key"]
    tokens: Sequence[str]  # labels
    n_cells: int  # fewer than tokens in an overview: cell i of m stands for the n tokens from i * n // m on
    first: int = 0  # position of the first token in the whole text

    @cached_property
    def starts(self) -> list[int]:
        """The first position of each cell, and the position after the last cell."""
        n = len(self.tokens)
        return [self.first + cell * n // max(self.n_cells, 1) for cell in range(self.n_cells + 1)]

    @property
    def is_pooled(self) -> bool:
        """Whether this is an overview, in which a cell stands for several positions."""
        return self.n_cells < len(self.tokens)

    @cached_property
    def border(self) -> float | None:
        """The edge before the cell with the first token of a second text; None without one."""
        place = border_in(self.tokens)
        edges = self.around(None if not place else self.first + place)
        return None if edges is None else edges[0]

    @property
    def ends(self) -> tuple[float, float]:
        """The range of the axis."""
        return self.first - 0.5, self.first + len(self.tokens) - 0.5

    @cached_property
    def words(self) -> list[str]:
        """A name for each cell: ``query 3 'sat'``, or ``queries 128 to 143`` in an overview; escaped for plotly."""
        one, many = (say(form) for form in _FORMS[self.kind])  # translated once for thousands of cells
        return [
            one.format(place=start, token=escape(isolate(self.tokens[start - self.first])))
            if end - start == 1
            else many.format(first=start, last=end - 1)
            for start, end in zip(self.starts, self.starts[1:], strict=False)
        ]

    def coordinates(self, axis: Literal["x", "y"]) -> dict[str, Any]:
        """Return the coordinates of a heatmap's cells, for its trace; {} where plotly's default is correct."""
        if self.is_pooled:
            return {axis: [start - 0.5 for start in self.starts]}
        return {f"{axis}0": self.first, f"d{axis}": 1} if self.first else {}

    def around(self, place: int | None) -> tuple[float, float] | None:
        """Return the two edges of the cell that holds a position of the whole text; None if no cell does."""
        if place is None:
            return None
        inside = (
            (start - 0.5, end - 0.5)
            for start, end in zip(self.starts, self.starts[1:], strict=False)
            if start <= place < end
        )
        return next(inside, None)

    def axis(self, name: str, *, room: int | float, apart: int = LINE, chosen: int | None = None) -> dict[str, Any]:
        """Return an axis of integer positions with tokens as tick text, or numbers in an overview or a short axis.

        Args:
            name: title of the axis.
            room: length of the axis in px; where it is short, labels become smaller, then numbers replace them.
            apart: px between two labels of 11 px.
            chosen: a position whose token is shown beside its number.
        """
        pitch = room / max(len(self.tokens), 1)
        sizes = [(size, line * apart / LINE) for size, line in _SIZES]
        smallest, least = sizes[-1]
        if self.is_pooled:
            positions = _round_places(self.starts[0], self.starts[-1], _BLOCK_LABEL / pitch)
            texts, where = [str(position) for position in positions], say(", position in the text")
        else:
            positions, texts = [*range(self.first, self.starts[-1])], self._texts()
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
        """Return the tokens of an axis that shows numbers, and the position of the first; {} if it shows all tokens.

        It goes into the layout's ``meta["tokens"]``, under the name of the axis: the browser writes the tokens along
        the axis where there is room, otherwise beside the figure.
        """
        if len(axis["tickvals"]) == len(self.tokens):
            return {}
        return {"first": self.first, "labels": self._texts()}

    def _texts(self) -> list[str]:
        """Return the tokens as an axis shows them."""
        return [escape(isolate(shorten(token))) for token in self.tokens]


def token_legends(**axes: tuple[TokenAxis, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the part of a layout's ``meta`` that lists its token axes, each with its `TokenAxis.legend`."""
    return {"tokens": {name: tokens.legend(axis) for name, (tokens, axis) in axes.items() if not tokens.is_pooled}}


@dataclass(frozen=True)
class TokenGrid:
    """The rows and columns of a figure of queries and keys: tokens, names, marks and size.

    Where `blocks` is given, the figure is an overview: cell i of m stands for the n tokens from i * n // m on, as
    `Overview` of the instruments pools them.
    """

    query_tokens: Sequence[str]  # labels of the rows, from top to bottom; in an overview, of all queries
    key_tokens: Sequence[str]  # labels of the columns
    _: KW_ONLY
    first_query: int = 0  # position of the first query in the whole text, where the figure shows a window of it
    first_key: int = 0
    query_name: str = mark("query")  # titles of the axes
    key_name: str = mark("key")
    blocks: tuple[int, int] | None = None  # numbers of queries and keys of an overview
    marked: tuple[int | None, int | None] = (None, None)  # a query and a key to frame, as positions in the whole text
    generated_from: int | None = None  # first position that the model generated; a dotted line separates it
    width: int = 600  # px that the figure is laid out for; it takes the width of its container
    height: int | None = None  # px; None: chosen by the figure

    def axes(self, shape: tuple[int, ...] | None = None) -> tuple[TokenAxis, TokenAxis]:
        """Return the rows and the columns for values of this shape; None: one cell per label.

        Raises:
            ValueError: the labels do not fit.
        """
        n_labels = len(self.query_tokens), len(self.key_tokens)
        shape = n_labels if shape is None else shape
        n_queries, n_keys = self.blocks or shape
        if n_labels != (n_queries, n_keys):
            raise ValueError(
                f"The pattern has {n_queries} queries and {n_keys} keys, but there are {n_labels[0]} query labels and "
                f"{n_labels[1]} key labels; give one label per row and one per column."
            )
        return (
            TokenAxis(kind="query", tokens=self.query_tokens, n_cells=shape[0], first=self.first_query),
            TokenAxis(kind="key", tokens=self.key_tokens, n_cells=shape[1], first=self.first_key),
        )

    def layout(self, queries: TokenAxis, keys: TokenAxis, *, title: str, number: int = 24) -> dict[str, Any]:
        """Return the layout of the figure without its colors; `number` is the px that a number in a cell takes."""
        height = self.height or HEIGHT
        longest = 0.0 if keys.is_pooled else max((text_width(shorten(token)) for token in keys.tokens), default=0.0)
        pitch = self.width / max(keys.n_cells, 1)
        columns = keys.axis(self.key_name, room=self.width, chosen=self.marked[1])
        size = columns["tickfont"]["size"]
        angle = 0 if longest <= 0.8 * pitch else -45 if pitch >= _SLANTED * size else -90
        long = longest * size / _SIZES[0][0]  # px of the longest label
        top = 2 * _TITLE + {0: LINE, -45: (long + LINE) / math.sqrt(2) + 12, -90: long + 12}[angle]
        low, high = queries.ends
        rows = queries.axis(self.query_name, room=height * 0.75, chosen=self.marked[0])
        return figure_layout(say(title), height=height, margin=(8, 8, top, 8)) | {
            "meta": {"textFromWidth": 140 + number * keys.n_cells}  # px, from which width on numbers are drawn
            | token_legends(xaxis=(keys, columns), yaxis=(queries, rows))
            | ({} if self.marked == (None, None) else {"chosen": {"xaxis": self.marked[1], "yaxis": self.marked[0]}}),
            "xaxis": columns | {"side": "top", "range": list(keys.ends), "tickangle": angle},
            "yaxis": rows | {"range": [high, low], "automargin": True},
        }


def _round_places(first: int, stop: int, apart: float) -> list[int]:
    """Return round numbers from `first` on, at least `apart` from each other."""
    steps = (digit * 10**power for power in range(12) for digit in (1, 2, 5))
    step = next(step for step in steps if step >= apart)
    return list(range(-(-first // step) * step, stop, step))
