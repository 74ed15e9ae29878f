"""Matrices of positions: a table of encodings, dot products, the rotation of a shift, a bias of the scores."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from headlight.figures.elements import bold_title, cell_axis, figure_layout, figure_of, hover, label_axis, segment
from headlight.figures.heatmaps.cells import MOST_TEXTS, Words, browser_words
from headlight.figures.heatmaps.number_panels import Scale, cell_texts, number_cells
from headlight.figures.labels import LINE, escape, text_width
from headlight.figures.quantities import rounded
from headlight.figures.theme import FAINT

_TITLE, _BESIDE = 24, 70  # px: a line of a title, the bar of colors
_DIGIT = 7.5  # px: the width of a digit in a cell


@dataclass(frozen=True, kw_only=True)
class MatrixAxis:
    """The rows or the columns of a matrix."""

    title: str  # of the axis
    words: Sequence[str]  # name of each row or column in hover texts: "position 3"
    ticks: Sequence[str] | None = None  # labels, which may have several lines; None: numbers
    hue: str | None = None  # of the title

    def axis(self, *, room: int | float, apart: int | float) -> dict[str, Any]:
        """Return the axis; `room`: length in px, `apart`: minimum px from one label to the next."""
        n = len(self.words)
        pitch = room / max(n, 1)
        if self.ticks is not None:
            step = max(1, math.ceil(apart / pitch))
        else:
            sizes = [digit * 10**power for power in range(5) for digit in (1, 2, 5)]
            step = next(size for size in sizes if size * pitch >= apart)
        places = range(0, n, step)
        texts = [escape(self.ticks[place]).replace("\n", "<br>") if self.ticks else str(place) for place in places]
        size, title = 12 if pitch >= LINE else 11, bold_title(self.title, self.hue)
        return label_axis(places, texts, size=size, title=title, ticklabelstandoff=3)


def position_matrix(
    values: Float[np.ndarray, "row column"],
    rows: MatrixAxis,
    columns: MatrixAxis,
    *,
    title: str,
    what: str = "",
    limits: tuple[float, float] | None = None,
    diverging: bool = True,
    decimals: int = 2,
    cut: int | None = None,
    has_numbers: bool = True,
    width: int = 640,
    height: int = 420,
) -> go.Figure:
    """Draw a cell for each number, row 0 at the top.

    Args:
        values: NaN for a blank cell.
        rows: names and labels of the rows.
        columns: names and labels of the columns.
        title: names the quantity.
        what: before a number in hover texts.
        limits: ends of the color range; None: symmetric around 0, or from 0.
        diverging: whether the values are around 0: orange is less, indigo is more.
        decimals: of a number.
        cut: draw a line before this column, where two halves meet; None: nowhere.
        has_numbers: whether numbers are written into the cells where there is room.
        width: px that the figure is laid out for; it takes the width of its container.
        height: px.

    Returns:
        A figure over integer positions. The browser composes the hover texts of a large one, see `cells`.

    Raises:
        ValueError: the names do not fit the values.
    """
    if values.shape != (len(rows.words), len(columns.words)):
        raise ValueError(
            f"There are {values.shape[0]} by {values.shape[1]} numbers, but words for {len(rows.words)} rows and "
            f"{len(columns.words)} columns; give one of each."
        )
    scale = Scale.of([values], limits, diverging=diverging, decimals=decimals)
    n_rows, n_columns = values.shape
    before = f"{what} " if what else ""
    words = _words(values, rows, columns, escape(before), decimals)
    finite = values[np.isfinite(values)]
    ends = (finite.min(), finite.max()) if finite.size else (0.0,)  # one of them is the longest number
    number = _DIGIT * max(len(rounded(float(value), decimals)) for value in ends)
    inner = width - _BESIDE - 40, height - 2 * _TITLE - LINE
    is_written = has_numbers and number * n_columns <= inner[0] and (LINE + 2) * n_rows <= inner[1]
    traces = number_cells(values, scale, words.trace, name=escape(what) or "value", is_written=is_written)
    lines = (line for tick in columns.ticks or [str(n_columns)] for line in tick.split("\n"))
    apart = max(map(text_width, lines), default=0.0)
    n_lines = 1 + max((tick.count("\n") for tick in columns.ticks or ()), default=0)
    top = 2 * _TITLE + (LINE + 3) * n_lines + 6
    layout = figure_layout(title, height=height, margin=(8, 8, top, 8)) | {
        "meta": words.meta | {"textFromWidth": round(_BESIDE + 40 + number * n_columns)},
        "xaxis": cell_axis(n_columns, **columns.axis(room=inner[0], apart=apart + 8), tickangle=0),
        "yaxis": cell_axis(n_rows, is_down=True, **rows.axis(room=inner[1], apart=LINE), automargin=True),
    }
    layout |= scale.layout(decimals=0 if scale.high >= 100 else min(decimals, 2))
    if cut is not None:
        ends = (cut - 0.5, cut - 0.5), (-0.5, n_rows - 0.5)
        layout["shapes"] = [segment(*ends, color=FAINT, width=1, dash="dot")]
    return figure_of(traces, layout)


def _words(
    values: Float[np.ndarray, "row column"], rows: MatrixAxis, columns: MatrixAxis, before: str, decimals: int
) -> Words:
    """Return the hover texts of the cells; `before` is escaped."""
    row_names, column_names = ([escape(word) for word in side.words] for side in (rows, columns))
    if values.size > MOST_TEXTS:
        return browser_words(row_names, column_names, before=before, form=f".{decimals}f")

    def words(row: str, column: str, value: float) -> str:
        return "" if np.isnan(value) else f"{row} \u2192 {column}: {before}{rounded(value, decimals)}"

    texts = np.array(cell_texts(values, row_names, column_names, words), dtype=object)
    return Words(hover(texts) | {"hoverongaps": False}, {})
