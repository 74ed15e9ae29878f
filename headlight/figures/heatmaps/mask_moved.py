"""What moves when a text is changed, with a right mask and with another one: two matrices on one scale."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from headlight.figures.heatmaps.cells import NUMBERS_UP_TO
from headlight.figures.heatmaps.numbers import Scale, numbers_in_cells
from headlight.figures.hues import FAINT
from headlight.figures.labels import LINE, escape, isolate, shorten, text_width
from headlight.figures.layout import (
    HOVER,
    axis_names,
    axis_title,
    border_lines,
    figure_layout,
    figure_of,
    frame_around,
    label_axis,
    note,
)
from headlight.figures.theme import KEY, QUERY
from transformer_core.language import say

_COLORBAR = {"thickness": 10, "len": 0.6, "y": 1, "yanchor": "top", "tickformat": ".2~f"}
_GAP = 0.06  # of the width, between both
_ROOM = 150  # px beside both: labels, and the bar of colors
_SMALL = 0.05  # logits: what is less is written as about 0, unless it is exactly 0
_NUMBER = 26  # px that a number takes in its cell


def moved_pair(
    moved: tuple[Float[np.ndarray, "row column"], Float[np.ndarray, "row column"]],
    *,
    titles: tuple[str, str],
    rows: Sequence[str],
    columns: Sequence[str],
    row_name: str,
    column_name: str,
    hover: str,
    chosen: int | None = None,
    title: str,
    subtitle: str = "",
    tolerance: float = 0.0,
    height: int = 460,
) -> go.Figure:
    """Draw two matrices of changes beside each other. A cell up to the tolerance is neutral: nothing moved.

    Args:
        moved: logits, at least 0; NaN where there is no output yet: a dot. Both of one shape.
        titles: of both.
        rows: labels.
        columns: labels.
        row_name: what the rows are.
        column_name: what the columns are.
        hover: a text with {row}, {row_label}, {column}, {column_label} and {value}.
        chosen: a column that is framed; None: none.
        title: names the quantity.
        subtitle: stands below the title, smaller.
        tolerance: logits; differences up to this are rounding, and look like 0.
        height: px.

    Returns:
        A figure over integer positions, the first row at the top; the color range is from 0 to the largest change.

    Raises:
        ValueError: matrices and labels do not fit together.
    """
    shape = (len(rows), len(columns))
    if other := next((cells.shape for cells in moved if cells.shape != shape), None):
        raise ValueError(
            f"There are {shape[0]} row labels and {shape[1]} column labels, but a matrix of {other[0]} by {other[1]}; "
            "give one label a row and one a column."
        )
    finite = [np.nan_to_num(cells) for cells in moved]
    most = max(float(cells.max(initial=0.0)) for cells in finite) or 1.0
    half = (1 - _GAP) / 2
    traces: list[Any] = []
    for side, cells in enumerate(moved):
        traces += _traces(cells, side, rows, columns, hover, most, tolerance)
    traces += [_dots(cells, side) for side, cells in enumerate(moved) if np.isnan(cells).any()]
    longest = max(text_width(shorten(label)) for label in columns)
    top = (4 if subtitle else 2) * LINE + 24 + longest * 0.72
    layout = figure_layout(title, height=height, margin=(8, 8, top, 34), subtitle=subtitle) | {
        "meta": {"textFromWidth": _ROOM + round(2 * _NUMBER * shape[1] / (1 - _GAP))}
        | ({} if chosen is None else {"chosen": {"xaxis": chosen, "xaxis2": chosen}}),
        "coloraxis": {"cmin": 0, "cmax": most, "colorbar": _COLORBAR},
        "annotations": [
            note(f"<b>{escape(text)}</b>", x=(half + _GAP) * side, y=0, yshift=-8, anchor=("left", "top"), size=None)
            for side, text in enumerate(titles)
        ],
    }
    for side, suffix in enumerate(("", "2")):
        start = (half + _GAP) * side
        layout[f"xaxis{suffix}"] = (
            _axis(columns, column_name, KEY)
            | {"domain": [start, start + half], "side": "top", "range": [-0.5, shape[1] - 0.5]}
            | {"anchor": f"y{suffix}", "tickangle": -45}
        )
        layout[f"yaxis{suffix}"] = (
            _axis(rows, row_name if side == 0 else "", QUERY)
            | {"range": [shape[0] - 0.5, -0.5], "automargin": side == 0, "anchor": f"x{suffix}"}
            | ({} if side == 0 else {"showticklabels": False, "matches": "y"})
        )
    layout["shapes"] = border_lines(rows, columns) + border_lines(rows, columns, xaxis="x2", yaxis="y2")
    if chosen is not None:
        across, down = (chosen - 0.5, chosen + 0.5), (-0.5, shape[0] - 0.5)
        layout["shapes"] += [
            frame_around(across, down, color=KEY, width=2, xref=f"x{suffix}", yref=f"y{suffix}") for suffix in ("", "2")
        ]
    return figure_of(traces, layout)


def _traces(
    cells: np.ndarray,
    side: int,
    rows: Sequence[str],
    columns: Sequence[str],
    hover: str,
    most: float,
    tolerance: float,
) -> list[Any]:
    """Return one matrix: what moved, what did not, and the numbers where they have room."""
    axes = axis_names(side)
    hover_texts = [
        [
            ""
            if np.isnan(value)
            else say(
                hover,
                row=row,
                row_label=escape(isolate(rows[row])),
                column=column,
                column_label=escape(isolate(columns[column])),
                value=in_words(value),
            )
            for column, value in enumerate(values)
        ]
        for row, values in enumerate(cells.tolist())
    ]
    common = {"customdata": np.array(hover_texts, dtype=object), "hovertemplate": HOVER, "hoverongaps": False}
    common |= {"xgap": 1, "ygap": 1, **axes}
    still = np.where(cells <= tolerance, 0.0, np.nan).astype(np.float32)
    moving = np.where(cells > tolerance, cells, np.nan).astype(np.float32)
    name = say("at most {most} (rounding)", most=in_words(tolerance)) if tolerance else say("exactly 0")
    traces: list[Any] = [
        go.Heatmap(name=name, z=still, coloraxis="coloraxis2", **common),
        go.Heatmap(name=say("change in logits"), z=moving, coloraxis="coloraxis", **common),
    ]
    if max(cells.shape) <= NUMBERS_UP_TO:
        traces += numbers_in_cells(cells, Scale(low=0, high=most), axes, write=lambda value: _in_cell(value, tolerance))
    return traces


def _dots(cells: np.ndarray, side: int) -> go.Scatter:
    """Return a dot for each cell that is not there."""
    row, column = np.nonzero(np.isnan(cells))
    marker = {"color": FAINT, "size": 2}
    options: dict[str, Any] = {"mode": "markers", "marker": marker, "hoverinfo": "skip", "showlegend": False}
    return go.Scatter(name=say("no output yet"), x=column, y=row, **options, **axis_names(side))


def _in_cell(value: float, tolerance: float) -> str:
    """Return what is written into a cell."""
    if value <= tolerance:
        return "0"
    return "≈0" if value < _SMALL else f"{value:.1f}"


def in_words(value: float) -> str:
    """Return a change of logits in words; none looks like 0 that is not."""
    if value == 0:
        return say("exactly 0")
    return f"{value:.2f}" if value >= 0.005 else f"{value:.0e}".replace("e-0", "e-")


def _axis(labels: Sequence[str], title: str, color: str) -> dict[str, Any]:
    """Return an axis of tokens."""
    named = axis_title(f"<b>{escape(title)}</b>" if title else "", size=13, standoff=6, hue=color)
    texts = [escape(shorten(label)) for label in labels]
    return label_axis(range(len(labels)), texts, size=12, title=named, ticklabelstandoff=3)
