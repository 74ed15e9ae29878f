"""Heatmaps of queries and keys: colors, hover texts, numbers in the cells, frames.

**Hover texts in the browser.** One text per cell would dominate a large figure's size. Above `MOST_TEXTS` cells the
figure is sent without them, and the browser composes the same texts from `layout.meta["words"]`:

- `queries`, `keys`: the name of each row and column, escaped;
- `before`: the text before a number, escaped;
- `format`: of a cell's number z, as in Python: ".2f" or "+.2f", with \u2212 for a minus;
- `power`: if true, the number is not z but 10 to the power of z, with two significant digits and without an exponent;
  where z is -6 or less, it is `below`;
- `forbidden`: the text of a cell that the mask does not allow.

A cell's text is ``{queries[row]} \u2192 {keys[column]}: {before}{number}``. The texts go into `customdata`,
[row][column], of each heatmap whose `meta` is "words", for the cells where its z is finite; its hovertemplate shows
them. The heatmap whose name is `forbidden` has ``{queries[row]} \u2192 {keys[column]}: {forbidden}`` instead.
`offline.FILL_IN_WORDS` implements this.

**Blocks.** In an overview, `layout.meta["blocks"]` has `queries` and `keys`: the first position of each row and column,
and the position after the last.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float, Int

from headlight.figures.elements import HOVER, frame_around, hover, segment
from headlight.figures.quantities import BELOW
from headlight.figures.theme import DIVIDER, KEY, NOT_FINITE, QUERY, WARM
from headlight.figures.token_grid import TokenAxis, TokenGrid
from headlight.language import say, separated
from transformer_core.errors import mark

MOST_TEXTS = 64 * 64  # maximum cells that are sent with a hover text each
NUMBERS_UP_TO = 24  # maximum tokens per side with values written into the cells, if these are large enough
FORBIDDEN = mark("masked")
BROKEN = mark("not finite (NaN or ∞)")


class Words(NamedTuple):
    """The hover texts of the cells."""

    trace: dict[str, Any]  # a part of each heatmap
    meta: dict[str, Any]  # a part of the layout's


class Cells:
    """The cells of a grid of queries and keys, and how they are drawn."""

    def __init__(
        self,
        values: Float[np.ndarray, "query key"],
        grid: TokenGrid,
        mask: Bool[np.ndarray, "query key"] | None = None,
        *,
        is_partial: bool = False,
    ) -> None:
        """Take the values of a grid.

        Args:
            values: one number per cell.
            grid: the rows and columns.
            mask: True = may attend; None: all cells.
            is_partial: whether the last rows and columns of the grid are empty.

        Raises:
            ValueError: the labels do not fit.
        """
        self.values, self.grid = values, grid
        self.queries, self.keys = grid.axes(None if is_partial else values.shape)
        n_keys = values.shape[1]
        self.filled = replace(self.keys, tokens=self.keys.tokens[:n_keys], n_cells=n_keys) if is_partial else self.keys
        self.mask = np.ones(values.shape, dtype=bool) if mask is None else mask
        self.broken = self.mask & ~np.isfinite(values)
        self.shown = self.mask & ~self.broken

    def words(
        self,
        numbers: Callable[[], Sequence[Sequence[str]]],
        *,
        before: str = "",
        form: str = ".2f",
        is_power: bool = False,
        between: str = ": ",
        rows: Sequence[str] | None = None,
    ) -> Words:
        """Return the hover texts of all cells, or for many cells what the browser composes them from.

        Args:
            numbers: returns the text of each cell after `between`.
            before: what the browser writes before a number.
            form: the number's format in the browser.
            is_power: whether the browser gets powers of ten.
            between: between the names of the cell and its number.
            rows: names of the rows, escaped; None: those of the queries.
        """
        n_rows, n_columns = self.values.shape
        queries, keys = (self.queries.words if rows is None else rows)[:n_rows], self.keys.words[:n_columns]
        if self.values.size > MOST_TEXTS:
            return browser_words(queries, keys, before=before, form=form, is_power=is_power)
        texts = [
            [f"{query} \u2192 {key}{between}{number}" for key, number in zip(keys, row, strict=True)]
            for query, row in zip(queries, numbers(), strict=True)
        ]
        for cells, text in ((self.broken, BROKEN), (~self.mask, FORBIDDEN)):
            for row, column in np.argwhere(cells).tolist():
                texts[row][column] = f"{queries[row]} \u2192 {keys[column]}: {say(text)}"
        return Words(hover(np.array(texts, dtype=object)) | {"hoverongaps": False}, {})  # lists take twice as long

    def draw(
        self,
        words: Words,
        colors: dict[str, Any],
        *,
        title: str,
        name: str,
        colored: Float[np.ndarray, "query key"] | None = None,
        numbers: Callable[[], tuple[Sequence[str], Bool[np.ndarray, " cell"]]] | None = None,
        number_width: int = 24,
        hue: str = WARM,
        framed: Iterable[tuple[int, int]] = (),
    ) -> tuple[list[Any], dict[str, Any]]:
        """Return the traces and the layout of the figure.

        Masked cells are neutral, not zeros, and cells that are NaN or infinite have a separate color.

        Args:
            words: the hover texts.
            colors: the color axis by its name.
            title: names the quantity, and the head.
            name: of the trace.
            colored: the numbers that the colors stand for; None: the values.
            numbers: returns the texts in the cells that are shown, in order, and which cells are deep; None: no texts.
            number_width: px of a number in a cell.
            hue: of the frame around the marked cell, and around each of `framed`.
            framed: more cells to frame, each a query and a key.
        """
        (color_axis,) = colors
        where = self.keys.coordinates("x") | self.queries.coordinates("y")
        gap = {"xgap": 1, "ygap": 1} if max(self.values.shape) <= 32 else {"xgap": 0, "ygap": 0}
        z = np.where(self.shown, self.values if colored is None else colored, np.nan).astype(np.float32)
        traces: list[Any] = [go.Heatmap(name=name, z=z, coloraxis=color_axis, **gap, **where, **words.trace)]
        if not self.mask.all():
            traces.insert(0, masked_cells(self.mask, **where, **words.trace))
        if self.broken.any():
            traces.insert(0, broken_cells(self.broken, **gap, **where, **words.trace))
            scale = {"color": [0], "coloraxis": color_axis}  # plotly draws none beside cells without a number
            look: dict[str, Any] = {"mode": "markers", "marker": scale, "showlegend": False, "hoverinfo": "skip"}
            traces.append(go.Scatter(x=[None], y=[None], **look))
        if (
            numbers is not None
            and max(len(self.queries.tokens), len(self.keys.tokens)) <= NUMBERS_UP_TO
            and not self.grid.blocks
        ):
            rows, columns = np.nonzero(self.shown)
            traces += number_traces(columns + self.keys.first, rows + self.queries.first, *numbers())
        layout = self.grid.layout(self.queries, self.keys, title=title, number=number_width)
        layout["meta"] |= words.meta
        if self.grid.blocks:
            layout["meta"] |= {"blocks": {"queries": self.queries.starts, "keys": self.keys.starts}}
        return traces, layout | colors | outlines(self.grid, self.queries, self.filled, hue, framed)


def browser_words(
    queries: Sequence[str], keys: Sequence[str], *, before: str, form: str, is_power: bool = False
) -> Words:
    """Return the parts of the hover texts that the browser composes, as this module's docstring defines them."""
    fields = {
        "queries": queries,
        "keys": keys,
        "before": before,
        "format": form,
        "power": is_power,
        "decimal": separated(["."])[0],
    }
    fields |= {"forbidden": say(FORBIDDEN)} | ({"below": say(BELOW)} if is_power else {})
    return Words({"meta": "words", "hovertemplate": HOVER, "hoverongaps": False}, {"words": fields})


def masked_cells(mask: Bool[np.ndarray, "query key"], **options: Any) -> go.Heatmap:
    """Return the cells that the mask does not allow, in the neutral color of the template; `mask`: True = allowed."""
    z = np.where(mask, np.nan, 0.0).astype(np.float32)
    return go.Heatmap(**{"name": say(FORBIDDEN), "z": z, "coloraxis": "coloraxis2"} | options)


def broken_cells(broken: Bool[np.ndarray, "query key"], **options: Any) -> go.Heatmap:
    """Return the cells that are NaN or infinite, in a separate color."""
    if options.get("meta") == "words":
        options |= {"meta": None, "hovertemplate": f"{say(BROKEN)}<extra></extra>"}
    z = np.where(broken, 0.0, np.nan).astype(np.float32)
    color = [[0, NOT_FINITE], [1, NOT_FINITE]]
    return go.Heatmap(name=say(BROKEN), z=z, colorscale=color, showscale=False, **options)


def number_traces(
    x: Int[np.ndarray, " cell"],
    y: Int[np.ndarray, " cell"],
    texts: Sequence[str],
    is_deep: Bool[np.ndarray, " cell"],
    **axes: str,
) -> list[go.Scatter]:
    """Return the numbers in cells: those on pale cells, then those on deep cells, in the order of the template.

    Args:
        x: positions of the cells.
        y: likewise.
        texts: the numbers; "" for none.
        is_deep: whether a cell's color is nearer to the deep end of its scale.
        axes: `xaxis` and `yaxis`, where they are not the figure's first.
    """
    is_written = np.array([bool(text) for text in texts], dtype=bool)
    look: dict[str, Any] = {"mode": "text", "hoverinfo": "skip", "showlegend": False}
    traces = []
    for name, chosen in (("numbers on pale cells", ~is_deep), ("numbers on deep cells", is_deep)):
        places = np.flatnonzero(chosen & is_written)
        written = [texts[place] for place in places.tolist()]
        traces.append(go.Scatter(name=name, x=x[places], y=y[places], text=written, **look, **axes))
    return traces


def outlines(
    grid: TokenGrid, queries: TokenAxis, keys: TokenAxis, hue: str = WARM, framed: Iterable[tuple[int, int]] = ()
) -> dict[str, Any]:
    """Return the frames and lines of a grid as a part of the layout; {} without any.

    There are thin frames around the marked row and column, a strong one around their cell and each of `framed`, a
    dotted line before the generated part, and a line between two texts.
    """
    row, column = queries.around(grid.marked[0]), keys.around(grid.marked[1])
    cells = [(keys.around(key), queries.around(query)) for query, key in framed]
    x, y = keys.border, queries.border
    shapes = [
        *([] if row is None else [frame_around(keys.ends, row, color=QUERY, width=1.5)]),
        *([] if column is None else [frame_around(column, queries.ends, color=KEY, width=1.5)]),
        *([] if row is None or column is None else [frame_around(column, row, color=hue, width=3)]),
        *(frame_around(across, down, color=hue, width=3) for across, down in cells if across and down),
        *_dividers(queries, keys, grid.generated_from),
        *([] if y is None else [segment(keys.ends, (y, y), color=DIVIDER, width=1.5)]),
        *([] if x is None else [segment((x, x), queries.ends, color=DIVIDER, width=1.5)]),
    ]
    return {"shapes": shapes} if shapes else {}


def _dividers(queries: TokenAxis, keys: TokenAxis, generated_from: int | None) -> list[dict[str, Any]]:
    """Return dotted lines between the given and the generated part, with a label."""
    row, column = queries.around(generated_from), keys.around(generated_from)
    look: dict[str, Any] = {"color": DIVIDER, "width": 1.5, "dash": "dot"}
    label = {"text": say("generated"), "textposition": "start", "textangle": 0, "xanchor": "left", "yanchor": "top"}
    label |= {"font": {"size": 12, "color": DIVIDER}, "padding": 5}
    lines = [] if row is None else [segment(keys.ends, (row[0], row[0]), **look)]
    if column is not None:
        lines.append(segment((column[0], column[0]), queries.ends, **look) | {"label": label})
    return lines
