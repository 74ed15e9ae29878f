"""Tables of numbers as colors, several side by side or stacked, with one scale."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from headlight.figures.heatmaps.numbers import Scale, number_heatmap, numbers_in_cells
from headlight.figures.hues import WARM
from headlight.figures.labels import LINE, escape, isolate, shorten, text_width
from headlight.figures.layout import add_panel, border_lines, figure_layout, figure_of, frame_around, label_axis, note
from headlight.figures.quantities import rounded
from headlight.figures.token_grid import TokenGrid

_ROW = 26  # px per row where there is room
_MOST_ROWS_HEIGHT = 460  # px of all rows together
_TOP, _NAME, _BOTTOM, _BAR = 34, 22, 34, 78  # px: title, names of panels, below, and the bar of colors
_GAP, _BELOW = 26, 8  # px between two panels: side by side, and stacked
_NUMBER = 30  # px of a number in a cell, at least


def number_panels(
    panels: Mapping[str, Float[np.ndarray, "row column"]],
    grid: TokenGrid,
    *,
    title: str,
    diverging: bool = False,
    limits: tuple[float, float] | None = None,
    decimals: int = 2,
    with_numbers: bool = True,
    with_colors: bool = True,
    stacked: bool = False,
) -> go.Figure:
    """Draw tables with the same rows and columns as colors, with numbers in the cells where there is room.

    Args:
        panels: by their names; "" for a single one.
        grid: labels and names of the rows (its queries) and the columns (its keys); () as labels for numbers, "" as the
            name of rows whose labels say it. Its marked cell is framed in each panel.
        title: names the quantity.
        diverging: colors around zero; otherwise from zero, or from the lower limit.
        limits: ends of the color range; None: from the numbers.
        decimals: of the numbers.
        with_numbers: write numbers into the cells where there is room.
        with_colors: draw the bar of colors.
        stacked: stack the panels, with the labels of the columns above the first.

    Returns:
        A figure over integer positions, with one color axis.

    Raises:
        ValueError: there is no panel, or the labels do not fit.
    """
    rows, columns, (row_mark, column_mark) = grid.query_tokens, grid.key_tokens, grid.marked
    shape = next(iter(panels.values())).shape if panels else (0, 0)
    n_rows, n_columns = shape
    if not panels or any(panel.shape != shape for panel in panels.values()):
        raise ValueError("There must be at least one panel, and all must have one shape.")
    if len(rows) not in (0, n_rows) or len(columns) not in (0, n_columns):
        raise ValueError(
            f"A panel has {n_rows} rows and {n_columns} columns, but there are {len(rows)} and {len(columns)} labels."
        )
    across, down = (1, len(panels)) if stacked else (len(panels), 1)
    longest = max((text_width(shorten(label)) for label in columns), default=0.0)
    is_slanted = longest > 0.75 * grid.width / max(len(columns) * across, 1)
    above = longest / math.sqrt(2) + 14 if is_slanted else LINE + 8
    row = min(_ROW, _MOST_ROWS_HEIGHT / max(n_rows * down, 1))
    top = _TOP + (_NAME if any(panels) else 0) + above
    height = grid.height or round(top + row * n_rows * down + (_NAME + _BELOW) * (down - 1) + _BOTTOM)
    left = 14 + max((text_width(shorten(label)) for label in rows), default=24)
    right = _BAR if with_colors else 10
    inner = max(grid.width - left - right, 1), max(height - top - _BOTTOM, 1)
    pitch = (inner[0] - _GAP * (across - 1)) / (across * max(n_columns, 1))
    row = (inner[1] - (_NAME + _BELOW) * (down - 1)) / (down * max(n_rows, 1))
    scale = Scale.of(panels.values(), limits, diverging=diverging, decimals=decimals)
    number = max(_NUMBER, *(0.82 * text_width(rounded(end, decimals)) for end in (scale.low, scale.high)))
    row_names, column_names = _names(grid.query_name, rows, n_rows), _names(grid.key_name, columns, n_columns)
    traces: list[Any] = []
    layout = figure_layout(title, height=height, margin=(left, right, top, _BOTTOM), annotations=[], shapes=[])
    layout |= {"meta": {"textFromWidth": round(left + right + across * n_columns * number)}}
    layout |= scale.layout(is_shown=with_colors)
    for i, (name, values) in enumerate(panels.items()):
        start = 0.0 if stacked else i * (pitch * n_columns + _GAP) / inner[0]
        end = 1 - i * (row * n_rows + _NAME + _BELOW) / inner[1] if stacked else 1.0
        box = (start, min(start + pitch * n_columns / inner[0], 1.0)), (end - row * n_rows / inner[1], end)
        x = _axis(columns, n_columns, pitch) | {"side": "top", "tickangle": -45 if is_slanted else 0}
        y = _axis(rows, n_rows, row) | {"range": [n_rows - 0.5, -0.5], "showticklabels": stacked or not i}
        x["showticklabels"] = not (stacked and i)
        refs = add_panel(layout, i, x, y, across=box[0], down=box[1])
        before = f"{escape(name)}, " if name else ""
        hover_texts = [
            [
                f"{before}{row_name}, {column_name}: {rounded(value, decimals)}"
                for column_name, value in zip(column_names, numbers, strict=True)
            ]
            for row_name, numbers in zip(row_names, values.tolist(), strict=True)
        ]
        traces.append(number_heatmap(values, hover_texts, name=escape(name), axis=scale.axis, **refs))
        if with_numbers and n_rows * n_columns <= 400 and row >= LINE:
            traces += numbers_in_cells(values, scale, refs)
        layout["shapes"] += border_lines(rows, columns, **refs)
        if row_mark is not None and column_mark is not None:
            cell = (column_mark - 0.5, column_mark + 0.5), (row_mark - 0.5, row_mark + 0.5)
            axes = {"xref": refs["xaxis"], "yref": refs["yaxis"]}
            layout["shapes"].append(frame_around(*cell, color=WARM, width=2.5) | axes)
        middle = sum(box[0]) / 2
        if name:
            look: dict[str, Any] = {"y": end, "yshift": 3 if stacked and i else above, "anchor": (None, "bottom")}
            layout["annotations"].append(note(f"<b>{escape(name)}</b>", x=middle, size=None, **look))
        if not stacked or i == down - 1:
            layout["annotations"].append(note(escape(grid.key_name), x=middle, y=0, anchor=(None, "top")))
    return figure_of(traces, layout)


def _names(name: str, labels: Sequence[str], n: int) -> list[str]:
    """Return the name of each row or column."""
    if not labels:
        return [f"{escape(name)} {i}" for i in range(n)]
    if not name:
        return [escape(isolate(label)) for label in labels]
    return [f"{escape(name)} {i} '{escape(isolate(label))}'" for i, label in enumerate(labels)]


def _axis(labels: Sequence[str], n: int, pitch: float) -> dict[str, Any]:
    """Return an axis of labels, all of which the browser fits, or of numbers, thinned out to fit."""
    step = 1
    if not labels:
        room = max(LINE + 8, text_width(str(n)) + 16)
        step = next(s for s in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000) if s * max(pitch, 0.01) >= room)
    places = range(0, n, step)
    texts = [escape(shorten(labels[place])) if labels else str(place) for place in places]
    axis = label_axis(places, texts, size=12, ticklabelstandoff=3, range=[-0.5, n - 0.5])
    return axis | {"title": {"text": ""}}
