"""Tables of numbers as colors, several beside or below each other with one scale."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from headlight.figures.heatmaps.numbers import Scale, number_heatmap, numbers_in_cells
from headlight.figures.hues import WARM
from headlight.figures.labels import LINE, escape, isolate, shorten, text_width
from headlight.figures.layout import axis_names, border_lines, figure_layout, figure_of, frame_around, label_axis
from headlight.figures.quantities import rounded

_ROW = 26  # px that a row takes where there is room
_MOST_ROWS_HEIGHT = 460  # px of all rows together
_TOP, _NAME, _BOTTOM, _BAR = 34, 22, 34, 78  # px: title, names of panels, below, and the bar of colors
_GAP, _BELOW = 26, 8  # px between two panels: side by side, and below each other beside the name
_NUMBER = 30  # px that a number in a cell takes at least


def number_panels(
    panels: Mapping[str, Float[np.ndarray, "row column"]],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    title: str,
    row_name: str,
    column_name: str,
    diverging: bool = False,
    limits: tuple[float, float] | None = None,
    decimals: int = 2,
    with_numbers: bool = True,
    with_colors: bool = True,
    stacked: bool = False,
    marked: tuple[int, int] | None = None,
    width: int = 560,
    height: int | None = None,
) -> go.Figure:
    """Draw tables of the same rows and columns as colors, with the numbers in the cells where they have room.

    Args:
        panels: by their names; "" for a single one.
        rows: the labels of the rows, from top to bottom; () for their numbers.
        columns: the labels of the columns; () for their numbers.
        title: names the quantity.
        row_name: what a row is; "" where its label says it.
        column_name: what a column is.
        diverging: colors around zero; else from zero, or from the lower limit, on.
        limits: the ends of the range of colors; None: the numbers' own.
        decimals: of the numbers.
        with_numbers: write them into the cells where there is room.
        with_colors: draw the bar of colors.
        stacked: panels stand below each other, with the columns' labels above the first.
        marked: row and column of a cell that has a frame in each panel; None: no cell has.
        width: px that the figure is laid out for; it takes the width that it is given.
        height: px; None: what the rows need.

    Returns:
        A figure over integer positions, with one color axis.

    Raises:
        ValueError: there is no panel, or labels do not fit.
    """
    shape = next(iter(panels.values())).shape if panels else (0, 0)
    n_rows, n_columns = shape
    if not panels or any(panel.shape != shape for panel in panels.values()):
        raise ValueError("There must be one panel at least, and all of one shape.")
    if len(rows) not in (0, n_rows) or len(columns) not in (0, n_columns):
        raise ValueError(
            f"A panel has {n_rows} rows and {n_columns} columns, but there are {len(rows)} and {len(columns)} labels."
        )
    across, down = (1, len(panels)) if stacked else (len(panels), 1)
    row = min(_ROW, _MOST_ROWS_HEIGHT / max(n_rows * down, 1))
    is_slanted, above = _labels_above(columns, width, across)
    named = _NAME if any(panels) else 0
    top = _TOP + named + above
    height = height or round(top + row * n_rows * down + (_NAME + _BELOW) * (down - 1) + _BOTTOM)
    left = 14 + max((text_width(shorten(label)) for label in rows), default=24)
    right = _BAR if with_colors else 10
    inner = max(width - left - right, 1), max(height - top - _BOTTOM, 1)
    pitch = (inner[0] - _GAP * (across - 1)) / (across * max(n_columns, 1))
    row = (inner[1] - (_NAME + _BELOW) * (down - 1)) / (down * max(n_rows, 1))
    scale = Scale.of(panels.values(), limits, diverging=diverging, decimals=decimals)
    traces: list[Any] = []
    layout = figure_layout(title, height=height, margin=(left, right, top, _BOTTOM), annotations=[])
    layout |= {"meta": {"textFromWidth": round(left + right + across * n_columns * _room(scale))}}
    layout |= scale.layout()
    layout[scale.axis]["showscale"] = with_colors
    layout["shapes"] = []
    for i, (name, values) in enumerate(panels.items()):
        refs = axis_names(i)
        place = (0, i) if stacked else (i, 0)
        start = place[0] * (pitch * n_columns + _GAP) / inner[0]
        end = 1 - place[1] * (row * n_rows + _NAME + _BELOW) / inner[1]
        box = (start, min(start + pitch * n_columns / inner[0], 1.0)), (max(end - row * n_rows / inner[1], 0.0), end)
        hover_words = _words(
            name, values, _places(row_name, rows, n_rows), _places(column_name, columns, n_columns), decimals
        )
        traces.append(number_heatmap(values, hover_words, name=escape(name), axis=scale.axis, **refs))
        layout["shapes"] += border_lines(rows, columns, **refs)
        if marked is not None:
            across_cell, down_cell = ((place - 0.5, place + 0.5) for place in reversed(marked))
            frame = frame_around(across_cell, down_cell, color=WARM, width=2.5)
            layout["shapes"].append(frame | {"xref": refs["xaxis"], "yref": refs["yaxis"]})
        if with_numbers and n_rows * n_columns <= 400 and row >= LINE:
            traces += numbers_in_cells(values, scale, refs)
        layout[f"xaxis{refs['xaxis'][1:]}"] = _axis(column_name, columns, n_columns, pitch) | {
            "domain": [*box[0]],
            "anchor": refs["yaxis"],
            "side": "top",
            "showticklabels": not place[1],
            "tickangle": -45 if is_slanted else 0,
            "title": {"text": ""},
        }
        layout[f"yaxis{refs['yaxis'][1:]}"] = _axis(row_name, rows, n_rows, row) | {
            "domain": [*box[1]],
            "range": [n_rows - 0.5, -0.5],
            "anchor": refs["xaxis"],
            "showticklabels": not place[0],
            "title": {"text": ""},
        }
        at = {"x": sum(box[0]) / 2, "xref": "paper", "yref": "paper", "showarrow": False}
        shift = 3 if place[1] else above
        if name:
            text = {"text": f"<b>{escape(name)}</b>", "y": box[1][1], "yshift": shift, "yanchor": "bottom"}
            layout["annotations"].append(at | text)
        if place[1] == down - 1:
            text = {"text": escape(column_name), "y": 0, "yanchor": "top", "font": {"size": 12}}
            layout["annotations"].append(at | text)
    return figure_of(traces, layout)


def _labels_above(columns: Sequence[str], width: int, n_panels: int) -> tuple[bool, float]:
    """Return whether the columns' labels are slanted, and the px that they take."""
    longest = max((text_width(shorten(label)) for label in columns), default=0.0)
    is_slanted = longest > 0.75 * width / max(len(columns) * n_panels, 1)
    return is_slanted, longest / math.sqrt(2) + 14 if is_slanted else LINE + 8


def _room(scale: Scale) -> float:
    """Return the px that a number in a cell takes."""
    return max(_NUMBER, *(0.82 * text_width(rounded(end, scale.decimals)) for end in (scale.low, scale.high)))


def _words(
    name: str, values: Float[np.ndarray, "row column"], rows: Sequence[str], columns: Sequence[str], decimals: int
) -> list[list[str]]:
    """Return the cells of a panel in words."""
    before = f"{escape(name)}, " if name else ""
    return [
        [
            f"{before}{row}, {column}: " + rounded(value, decimals)
            for column, value in zip(columns, numbers, strict=True)
        ]
        for row, numbers in zip(rows, values.tolist(), strict=True)
    ]


def _places(name: str, labels: Sequence[str], n: int) -> list[str]:
    """Return each row or column in words."""
    if not labels:
        return [f"{escape(name)} {i}" for i in range(n)]
    if not name:
        return [escape(isolate(label)) for label in labels]
    return [f"{escape(name)} {i} '{escape(isolate(label))}'" for i, label in enumerate(labels)]


def _axis(name: str, labels: Sequence[str], n: int, pitch: float) -> dict[str, Any]:
    step = 1  # all labels are sent, and the browser fits them
    if not labels:
        room = max(LINE + 8, text_width(str(n)) + 16)  # also in a narrower place
        step = next(s for s in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000) if s * max(pitch, 0.01) >= room)
    places = range(0, n, step)
    texts = [escape(shorten(labels[place])) if labels else str(place) for place in places]
    return label_axis(places, texts, size=12, ticklabelstandoff=3, range=[-0.5, n - 0.5])
