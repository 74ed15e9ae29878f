"""Attention patterns as heatmaps, and their differences: query rows, key columns."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from plotly.graph_objects import Figure

from headlight.figures.elements import figure_of
from headlight.figures.heatmaps.cells import Cells, outlines
from headlight.figures.quantities import COLORBAR, DEEP_BOTH_WAYS, MINUS, QUANTITIES, QuantityName, without_zero
from headlight.figures.theme import CHOSEN, WARM, diverging_scale
from headlight.figures.token_grid import TokenGrid
from headlight.language import say, separated
from transformer_core.errors import mark

_AT_MOST = mark("at most ")  # a cell of an overview has the largest value of its block
_WRITTEN = 0.05  # smallest difference that is written into its cell
_UNCHANGED = 0.005  # smaller differences count as none


def attention_heatmap(
    values: Float[np.ndarray, "query key"],
    grid: TokenGrid,
    *,
    quantity: QuantityName = "pattern",
    title: str | None = None,
    mask: Bool[np.ndarray, "query key"] | None = None,
    largest: float | None = None,
    framed: Iterable[tuple[int, int]] = (),
) -> Figure:
    """Draw the pattern of one head.

    Args:
        values: attention weights in [0, 1], where each row over `key` sums to 1; or another quantity. "log" takes
            weights, too, and "scores" has -inf where a query may not attend. In an overview, the largest of each block.
        grid: tokens, names, marks and size.
        quantity: a name in QUANTITIES.
        title: names the quantity, and the head; None: the quantity.
        mask: True = may attend; other cells have a neutral color. None: all values that are not -inf.
        largest: upper end of the color range of scores and lengths, so that all windows of a text share it; None: the
            largest absolute value.
        framed: cells to frame, each a query and a key, in addition to the one that the grid marks.

    Returns:
        A figure over integer positions in the whole text, with the tokens as tick text. The color range is [0, 1] for
        weights, 10^-4 to 1 for powers, around 0 for scores, from 0 for lengths. The browser composes the hover texts
        of a large figure, see `cells`.

    Raises:
        ValueError: the labels do not fit the values.
    """
    what = QUANTITIES[quantity]
    cells = Cells(values, grid, ~np.isneginf(values) if mask is None else mask)
    shown = values[cells.shown]
    limits = what.limits(shown, largest)
    decimals = what.decimals(limits[1])
    before = say(what.before) + (say(_AT_MOST) if grid.blocks else "")
    words = cells.words(
        lambda: [[before + number for number in what.written(row, decimals)] for row in values.tolist()],
        before=before,
        form=f".{decimals}f",
        is_power=what.scale == "power",
    )
    return figure_of(
        *cells.draw(
            words,
            {what.color_axis: what.colors(limits)},
            title=what.title if title is None else title,
            name=say(what.trace),
            colored=what.drawn(values),
            numbers=lambda: what.in_cells(shown, limits),
            number_width=what.number_width,
            hue=CHOSEN if what.scale == "signed" else WARM,
            framed=framed,
        )
    )


def heatmap_frame(grid: TokenGrid, *, title: str) -> dict[str, Any]:
    """Return the layout of a pattern's heatmap without its colors as plain JSON, for cells drawn in the browser."""
    queries, keys = grid.axes()
    layout = grid.layout(queries, keys, title=title, number=QUANTITIES["pattern"].number_width)
    return layout | outlines(grid, queries, keys)


def difference_heatmap(
    a: Float[np.ndarray, "query key"],
    b: Float[np.ndarray, "query key"],
    grid: TokenGrid,
    *,
    title: str = mark("Attention difference, B − A"),
    mask: Bool[np.ndarray, "query key"] | None = None,
) -> Figure:
    """Draw B minus A: indigo where B attends more, orange where A does, the background where they are equal.

    Args:
        a: attention weights in [0, 1] of one head; NaN where A has no such query or key.
        b: weights of another head or snapshot, on the same text or one aligned to it.
        grid: tokens, names, marks and size.
        title: names the quantity and the comparison.
        mask: True = may attend; other cells have a neutral color. None: where both have a number.

    Returns:
        A figure as of `attention_heatmap`, with the color range [-1, 1].

    Raises:
        ValueError: the labels do not fit the patterns.
    """
    difference = b - a
    cells = Cells(difference, grid, np.isfinite(difference) if mask is None else mask)
    words = cells.words(lambda: _changes(a, b), between="<br>", before=f"B {MINUS} A = ", form="+.2f")
    bar = COLORBAR | {
        "title": {"text": f"B {MINUS} A", "side": "top", "font": {"size": 11}},
        "tickvals": [-1, -0.5, 0, 0.5, 1],
        "ticktext": [f"{MINUS}1", f"{MINUS}0.5", "0", "+0.5", "+1"],
    }
    colors = {"cmin": -1, "cmax": 1, "colorscale": diverging_scale(), "colorbar": bar}
    return figure_of(
        *cells.draw(
            words,
            {"coloraxis3": colors},
            title=title,
            name=say("difference"),
            numbers=lambda: _in_cells(difference[cells.shown]),
            number_width=32,
            hue=CHOSEN,
        )
    )


def _changes(a: Float[np.ndarray, "query key"], b: Float[np.ndarray, "query key"]) -> Sequence[Sequence[str]]:
    """Return the hover text of each cell: both weights, and how much more or less the second is."""
    same, more, less = say("no change"), say("{change} more"), say("{change} less")
    return [
        [
            f"A: {in_a}, B: {in_b}, "
            + (same if abs(change) < _UNCHANGED else (more if change > 0 else less).format(change=size))
            for in_a, in_b, size, change in zip(
                *(separated([f"{value:.2f}" for value in row]) for row in (row_a, row_b, map(abs, changes))),
                changes,
                strict=True,
            )
        ]
        for row_a, row_b, changes in zip(a.tolist(), b.tolist(), (b - a).tolist(), strict=True)
    ]


def _in_cells(differences: Float[np.ndarray, " cell"]) -> tuple[list[str], Bool[np.ndarray, " cell"]]:
    """Return the signed numbers in the cells, and which cells are deep."""
    size = np.abs(differences)
    texts = [
        without_zero(text.replace("-", MINUS)) if is_written else ""
        for text, is_written in zip(
            separated([f"{value:+.2f}" for value in differences.tolist()]), (size >= _WRITTEN).tolist(), strict=True
        )
    ]
    return texts, size >= DEEP_BOTH_WAYS
