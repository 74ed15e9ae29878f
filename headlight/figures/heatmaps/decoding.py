"""Attention while a text is generated: the rows of one step, and the alignment of a whole output with its source."""

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from headlight.figures.elements import LEGEND_BELOW, figure_of, frame_around, segment
from headlight.figures.heatmaps.cells import Cells
from headlight.figures.labels import escape
from headlight.figures.quantities import QUANTITIES
from headlight.figures.theme import FAINT, WARM
from headlight.figures.token_grid import TokenGrid
from headlight.language import say, separated
from transformer_core.errors import mark

MEAN = mark("mean")
TRUE, MOST = mark("gold alignment"), mark("predicted alignment")
CellSet = Collection[tuple[int, int]]
"""Each a row and a column."""

_HEAD, _LEAST_HEAD = 24, 9  # px per row of a step, at most and at least
_MOST_HEADS = 560  # px of all rows of a step
_WITH_NUMBERS = 20  # minimum px of a row with numbers
_ROW = 25  # px per row of an alignment where there is room
_HEIGHTS = 300, 640  # px: the lowest and the highest alignment
_AROUND = 150  # px: title, labels of the columns, legend
_CORNER = 0.32, 0.24  # distance of a dot from the middle of its cell, across and up
_LEGEND = 26  # px


class LayerRows(NamedTuple):
    """Rows of one step that are drawn together."""

    values: Float[np.ndarray, "row key"]  # heads, then their mean
    labels: tuple[str, ...]  # "L0.H1"; "L0" for the mean of layer 0; "mean"
    chosen: int  # the selected row
    name: str  # of a row: "head" or "layer"


def layer_rows(
    patterns: Float[np.ndarray, "layer head key"], *, layer: int, head: int, mean: Literal["", "layer", "all"]
) -> LayerRows:
    """Return the heads of a layer and their mean; or, for the mean of all heads, the mean of each layer and of all.

    Args:
        patterns: attention weights of one query, of all heads.
        layer: whose heads are shown.
        head: the selected one.
        mean: "": the head is selected; "layer": the mean of its layer; "all": that of all heads.
    """
    of_all = mean == "all"
    rows = patterns.mean(axis=1) if of_all else patterns[layer]
    names = [f"L{i}" if of_all else f"L{layer}.H{i}" for i in range(len(rows))]
    values = np.concatenate([rows, rows.mean(axis=0, keepdims=True)])
    return LayerRows(values, (*names, MEAN), len(rows) if mean else head, "layer" if of_all else "head")


def step_rows(
    rows: Float[np.ndarray, "row key"], grid: TokenGrid, *, title: str, n_keys: int | None = None
) -> go.Figure:
    """Draw the weights of one query in several heads.

    Args:
        rows: attention weights in [0, 1]; each row sums to 1.
        grid: its queries are the heads: layer and head as "0.1", and "mean", above which there is a line.
        title: names the quantity, and the step.
        n_keys: number of keys to leave room for, so that nothing moves as keys are added; None: no more than there are.

    Returns:
        A figure over integer positions, rows from top to bottom; the color range is [0, 1].

    Raises:
        ValueError: the labels do not fit the rows.
    """
    grid.axes(rows.shape)
    what, labels = QUANTITIES["pattern"], grid.query_tokens
    room = min(_HEAD * len(labels), max(_MOST_HEADS, _LEAST_HEAD * len(labels)))
    later = [""] * ((n_keys or 0) - len(grid.key_tokens))
    shown = [say(label) if label == MEAN else label for label in labels]
    name, mean = escape(say(grid.query_name)), say("mean of these rows")
    height, grid = grid.height, replace(grid, query_tokens=shown, key_tokens=[*grid.key_tokens, *later], height=room)
    cells = Cells(rows, grid, is_partial=True)
    traces, layout = cells.draw(
        cells.words(
            lambda: [separated([f"{weight:.2f}" for weight in row]) for row in rows.tolist()],
            rows=[mean if label == MEAN else f"{name} {escape(label)}" for label in labels],
        ),
        {"coloraxis": what.colors((0, 1))},
        title=title,
        name=say(what.trace),
        numbers=(lambda: what.in_cells(rows[cells.shown], (0, 1))) if room >= _WITH_NUMBERS * len(labels) else None,
    )
    layout["height"] = height or math.ceil(room + layout["margin"]["t"] + layout["margin"]["b"])
    layout["yaxis"] |= cells.queries.axis(grid.query_name, room=room)
    layout["yaxis"]["title"] = {"text": name, "font": {"size": 13}}
    if MEAN in labels[1:]:
        edge = list(labels).index(MEAN) - 0.5
        line = segment(cells.filled.ends, (edge, edge), color=FAINT, width=1.5)
        layout["shapes"] = [line, *layout.get("shapes", [])]
    return figure_of(traces, layout)


def alignment_matrix(
    weights: Float[np.ndarray, "tgt src"],
    grid: TokenGrid,
    *,
    n_shown: int,
    truth: CellSet | None = None,
    links: CellSet | None = None,
    title: str = mark("Alignment: attention for each generated token"),
) -> go.Figure:
    """Draw the weights of one head, or a mean, for the part of an output that is generated.

    Args:
        weights: source attention when each token of the output was predicted; each row sums to 1. There is room for
            all rows, so that nothing moves as they appear.
        grid: its queries are the output, its keys the source.
        n_shown: number of rows that exist; the others stay empty.
        truth: cells of the gold alignment, to outline; None: unknown.
        links: the cells that a head chooses, marked with a dot; None: no dots.
        title: names the quantity, and the head.

    Returns:
        A figure over integer positions; the color range is [0, 1].

    Raises:
        ValueError: the labels do not fit the weights, or there are fewer than `n_shown` rows.
    """
    grid.axes(weights.shape)
    if not 0 <= n_shown <= len(weights):
        raise ValueError(f"{n_shown} rows cannot be shown, as there are {len(weights)}; show at most all of them.")
    what, n_rows = QUANTITIES["pattern"], len(weights)
    low, high = _HEIGHTS
    height = grid.height or round(min(max(_AROUND + _ROW * n_rows, low), high))
    labels = [*grid.query_tokens[:n_shown], *[""] * (n_rows - n_shown)]
    shown = weights[:n_shown]
    outlined, dotted = ({cell for cell in cells or () if cell[0] < n_shown} for cells in (truth, links))

    def numbers() -> list[list[str]]:
        texts = [separated([f"{weight:.2f}" for weight in weights_of_row]) for weights_of_row in shown.tolist()]
        for row, column in outlined | dotted:
            names = [say(name) for name, cells in ((TRUE, outlined), (MOST, dotted)) if (row, column) in cells]
            texts[row][column] += f"<br>{', '.join(names)}"
        return texts

    cells = Cells(shown, replace(grid, query_tokens=labels, height=height), is_partial=True)
    traces, layout = cells.draw(
        cells.words(numbers),
        {"coloraxis": what.colors((0, 1))},
        title=title,
        name=say(what.trace),
        numbers=lambda: what.in_cells(shown[cells.shown], (0, 1)),
    )
    whole = frame_around(cells.keys.ends, cells.queries.ends, color=FAINT, width=1)
    layout["shapes"] = [whole, *layout.get("shapes", [])]
    traces = [trace for trace in traces if shown.size or trace.type != "heatmap"]  # axes need a trace
    if truth is not None:
        around = [(-0.47, -0.47), (0.47, -0.47), (0.47, 0.47), (-0.47, 0.47), (-0.47, -0.47), (np.nan, np.nan)]
        points = [(column + x, row + y) for row, column in sorted(outlined) for x, y in around]
        traces.append(_in_legend(TRUE, points, {"mode": "lines", "line": {"color": WARM, "width": 2}}))
    if links is not None:
        points = [(column - _CORNER[0], row - _CORNER[1]) for row, column in sorted(dotted)]
        dots = {"mode": "markers", "marker": {"color": WARM, "size": 7, "line": {"width": 0}}}
        traces.append(_in_legend(MOST, points, dots))
    if truth is not None or links is not None:
        layout["margin"]["b"] += _LEGEND
        layout |= {"showlegend": True, "legend": LEGEND_BELOW}
    return figure_of(traces, layout)


def _in_legend(name: str, points: Sequence[tuple[float, float]], look: dict[str, Any]) -> go.Scatter:
    """Return a trace with an entry in the legend, which an empty trace would not have."""
    x, y = np.array(points or [(np.nan, np.nan)]).T
    return go.Scatter(name=say(name), x=x, y=y, hoverinfo="skip", showlegend=True, **look)
