"""What was written beside what was read: a row a token as it was written, a column a token of the source."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from headlight.figures.heatmaps.cells import NUMBERS_UP_TO, cell_traces, number_traces
from headlight.figures.heatmaps.cells import words as cell_words
from headlight.figures.hues import FAINT, WARM
from headlight.figures.layout import LEGEND_BELOW, figure_of, frame_around
from headlight.figures.quantities import QUANTITIES
from headlight.figures.theme import KEY, QUERY
from headlight.figures.token_axes import Places, grid_layout
from transformer_core.errors import mark
from transformer_core.language import say

TRUE, MOST = mark("gold alignment"), mark("predicted alignment")
Cells = Collection[tuple[int, int]]
"""Each a row and a column."""

_ROW = 25  # px that a row is given where there is room
_HEIGHTS = 300, 640  # px: the lowest and the highest figure
_AROUND = 150  # px: title, labels of the columns, legend
_CORNER = 0.32, 0.24  # of a cell, from its middle to where a dot lies, across and up
_LEGEND = 26  # px


def alignment_matrix(
    weights: Float[np.ndarray, "tgt src"],
    target_labels: Sequence[str],
    source_labels: Sequence[str],
    *,
    n_shown: int,
    truth: Cells | None = None,
    links: Cells | None = None,
    at: int | None = None,
    chosen: int | None = None,
    title: str = mark("Alignment: attention for each generated token"),
    target_name: str = mark("query: next token"),
    source_name: str = mark("key: source token"),
    width: int = 600,
    height: int | None = None,
) -> go.Figure:
    """Draw the weights of one head, or a mean, over a whole output, as far as it is written.

    Args:
        weights: of each token of the output, where was looked in order to write it; each row sums to 1. There is room
            for all rows, so that nothing moves while they appear.
        target_labels: the tokens of the output, one a row.
        source_labels: the tokens of the source, one a column.
        n_shown: how many rows are there by now; the others stay empty, and so do their labels.
        truth: cells of the true alignment, to outline; None: it is not known.
        links: the cells that a head decides for, to dot; None: none are told.
        at: the row that is being written, to mark.
        chosen: a column to mark.
        title: names the quantity, and whose attention it is.
        target_name: what the rows are, for the axis title.
        source_name: what the columns are.
        width: px that the figure is laid out for; it takes the width that it is given.
        height: px; None: what the rows need.

    Returns:
        A figure over integer positions; the range of colors is fixed to [0, 1].

    Raises:
        ValueError: the labels do not fit the weights, or more rows are to be shown than there are.
    """
    if weights.shape != (len(target_labels), len(source_labels)) or not 0 <= n_shown <= len(target_labels):
        raise ValueError(
            f"There are {weights.shape[0]} rows of {weights.shape[1]} weights for {len(target_labels)} target labels "
            f"and {len(source_labels)} source labels, {n_shown} rows to be shown; give one label a row and a column, "
            "and show no more rows than there are."
        )
    what = QUANTITIES["pattern"]
    written = [*target_labels[:n_shown], *[""] * (len(target_labels) - n_shown)]
    targets = Places(kind="query", tokens=written, n_cells=len(written))
    sources = Places(kind="key", tokens=source_labels, n_cells=len(source_labels))
    shown = weights[:n_shown]
    outlined, dotted = ({cell for cell in cells or () if cell[0] < n_shown} for cells in (truth, links))
    hover_words = cell_words(
        Places(kind="query", tokens=target_labels[:n_shown], n_cells=n_shown),
        sources,
        np.ones(shown.shape, dtype=bool),
        numbers=lambda: [
            [f"{weight:.2f}{_remarks((row, column), outlined, dotted)}" for column, weight in enumerate(of_row)]
            for row, of_row in enumerate(shown.tolist())
        ],
        before="",
        form=".2f",
    )
    traces: list[Any] = []
    if shown.size:
        every = np.ones(shown.shape, dtype=bool)
        traces += cell_traces(
            shown, targets, sources, every, name=say(what.trace), color_axis="coloraxis", hover_words=hover_words
        )
    if max(weights.shape) <= NUMBERS_UP_TO:
        rows, columns = np.indices(shown.shape)
        traces += number_traces(columns.ravel(), rows.ravel(), *what.in_cells(shown.ravel(), (0, 1)))
    has_legend = truth is not None or links is not None
    traces += [] if truth is None else [_outlines(outlined)]
    traces += [] if links is None else [_dots(dotted)]
    low, high = _HEIGHTS
    height = height or round(min(max(_AROUND + _ROW * len(target_labels), low), high))
    layout = grid_layout(
        targets,
        sources,
        title=title,
        query_name=target_name,
        key_name=source_name,
        width=width,
        height=height,
    )
    layout["coloraxis"] = what.colors((0, 1))
    layout["meta"] |= hover_words.meta
    layout["shapes"] = _bands(targets, sources, at, chosen)
    if has_legend:
        layout["margin"]["b"] += _LEGEND
        layout |= {"showlegend": True, "legend": LEGEND_BELOW}
    return figure_of(traces, layout)


def _remarks(cell: tuple[int, int], outlined: Cells, dotted: Cells) -> str:
    """Return what is told of a cell beside its weight."""
    remarks = [say(name) for name, cells in ((TRUE, outlined), (MOST, dotted)) if cell in cells]
    return f"<br>{', '.join(remarks)}" if remarks else ""


def _outlines(cells: Cells) -> go.Scatter:
    """Return one line around each cell."""
    around = [(-0.47, -0.47), (0.47, -0.47), (0.47, 0.47), (-0.47, 0.47), (-0.47, -0.47), (np.nan, np.nan)]
    points = [(column + x, row + y) for row, column in sorted(cells) for x, y in around]
    corners = np.array(points or [(np.nan, np.nan)])
    return go.Scatter(
        name=say(TRUE),
        x=corners[:, 0],
        y=corners[:, 1],
        mode="lines",
        line={"color": WARM, "width": 2},
        hoverinfo="skip",
        showlegend=True,
    )


def _dots(cells: Cells) -> go.Scatter:
    """Return a dot in the corner of each cell."""
    centres = [(float(column), float(row)) for row, column in sorted(cells)]
    middles = np.array(centres or [(np.nan, np.nan)])  # of an empty trace the legend would say nothing
    return go.Scatter(
        name=say(MOST),
        x=middles[:, 0] - _CORNER[0],
        y=middles[:, 1] - _CORNER[1],
        mode="markers",
        marker={"color": WARM, "size": 7, "line": {"width": 0}},
        hoverinfo="skip",
        showlegend=True,
    )


def _bands(targets: Places, sources: Places, at: int | None, chosen: int | None) -> list[dict[str, Any]]:
    """Return frames: around all rows, those to come included, the row that is being written, and a chosen column."""
    row, column = targets.around(at), sources.around(chosen)
    return [
        frame_around(sources.ends, targets.ends, color=FAINT, width=1),
        *([] if row is None else [frame_around(sources.ends, row, color=QUERY, width=1.5)]),
        *([] if column is None else [frame_around(column, targets.ends, color=KEY, width=1.5)]),
    ]
