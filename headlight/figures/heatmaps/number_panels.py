"""Tables of numbers as colors: scales, hover texts, numbers in cells, and several panels on one scale."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float

from headlight.figures import elements
from headlight.figures.heatmaps.cells import number_traces
from headlight.figures.labels import LINE, escape, isolate, shorten, text_width
from headlight.figures.quantities import COLORBAR, DEEP_BOTH_WAYS, Limits, all_rounded, rounded
from headlight.figures.theme import DEEP, WARM, diverging_scale
from headlight.figures.token_grid import TokenGrid

_ROW = 26  # px per row where there is room
_MOST_ROWS_HEIGHT = 460  # px of all rows together
_TOP, _NAME, _BOTTOM, _BAR = 34, 22, 34, 78  # px: title, panel names, bottom margin, and color bar
_GAP, _BELOW = 26, 8  # px between two panels: side by side, and stacked
_NUMBER = 30  # px of a number in a cell, at least
_GAPS_UP_TO = 32  # maximum rows and columns that are drawn with gaps


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
    layout = elements.figure_layout(title, height=height, margin=(left, right, top, _BOTTOM), annotations=[], shapes=[])
    layout |= {"meta": {"textFromWidth": round(left + right + across * n_columns * number)}}
    layout |= scale.layout(is_shown=with_colors)
    for i, (name, values) in enumerate(panels.items()):
        start = 0.0 if stacked else i * (pitch * n_columns + _GAP) / inner[0]
        end = 1 - i * (row * n_rows + _NAME + _BELOW) / inner[1] if stacked else 1.0
        box = (start, min(start + pitch * n_columns / inner[0], 1.0)), (end - row * n_rows / inner[1], end)
        x = _axis(columns, n_columns, pitch) | {"side": "top", "tickangle": -45 if is_slanted else 0}
        y = _axis(rows, n_rows, row) | {"range": [n_rows - 0.5, -0.5], "showticklabels": stacked or not i}
        x["showticklabels"] = not (stacked and i)
        refs = elements.add_panel(layout, i, x, y, across=box[0], down=box[1])
        before = f"{escape(name)}, " if name else ""

        def words(row_name: str, column_name: str, value: float, before: str = before) -> str:
            return f"{before}{row_name}, {column_name}: {rounded(value, decimals)}"

        has_numbers = with_numbers and n_rows * n_columns <= 400 and row >= LINE
        hover_texts = cell_texts(values, row_names, column_names, words)
        traces += number_cells(values, scale, hover_texts, name=escape(name), is_written=has_numbers, axes=refs)
        layout["shapes"] += elements.border_lines(rows, columns, **refs)
        if row_mark is not None and column_mark is not None:
            layout["shapes"].append(elements.cell_frame(row_mark, column_mark, color=WARM, axes=refs))
        middle = sum(box[0]) / 2
        if name:
            look: dict[str, Any] = {"y": end, "yshift": 3 if stacked and i else above, "anchor": (None, "bottom")}
            layout["annotations"].append(
                elements.note(f"<b>{escape(name)}</b>", x=middle, size=None, name="panel", **look)
            )
        if not stacked or i == down - 1:
            layout["annotations"].append(elements.note(escape(grid.key_name), x=middle, y=0, anchor=(None, "top")))
    return elements.figure_of(traces, layout)


def _names(name: str, labels: Sequence[str], n: int) -> list[str]:
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
    axis = elements.label_axis(places, texts, size=12, ticklabelstandoff=3, range=[-0.5, n - 0.5])
    return axis | {"title": {"text": ""}}


@dataclass(frozen=True, kw_only=True)
class Scale:
    """A color range from `low`, or around 0, where orange is less and indigo is more."""

    low: float
    high: float
    diverging: bool = False
    decimals: int = 2  # of a number in a cell or hover text

    @classmethod
    def of(
        cls, values: Iterable[np.ndarray], limits: Limits | None = None, *, diverging: bool = False, decimals: int = 2
    ) -> "Scale":
        """Return the scale with these limits; None: limits that cover all finite values."""
        seen = np.concatenate([part[np.isfinite(part)] for part in values])
        top = float(np.abs(seen).max(initial=0.0)) or 1.0
        low, high = limits or (-top if diverging else 0.0, top)
        return cls(low=low, high=high, diverging=diverging, decimals=decimals)

    @property
    def axis(self) -> str:
        """The color axis: the theme's sequential one, or the one around 0."""
        return "coloraxis3" if self.diverging else "coloraxis"

    def is_deep(self, values: Float[np.ndarray, "*cell"]) -> Bool[np.ndarray, "*cell"]:
        """Return which cells are colored so strongly that their numbers take the color of the background."""
        if self.diverging:
            return np.abs(values) >= DEEP_BOTH_WAYS * self.high
        return (values - self.low) / (self.high - self.low or 1) >= DEEP

    def layout(
        self, *, unit: str = "", decimals: int | None = None, is_shown: bool = True, **bar: Any
    ) -> dict[str, Any]:
        """Return the color axis by its name, with a color bar that is labelled at both ends and in the middle.

        Args:
            unit: above the bar.
            decimals: of the labels; None: those of the scale.
            is_shown: whether there is a bar.
            bar: other parts of the bar.
        """
        ticks = [self.low, (self.low + self.high) / 2, self.high]
        texts = all_rounded(ticks, self.decimals if decimals is None else decimals)
        above = {"title": {"text": f"{unit}<br>&nbsp;", "side": "top", "font": {"size": 12}}} if unit else {}
        colors = {"colorscale": diverging_scale()} if self.diverging else {}
        shown = COLORBAR | {"tickvals": ticks, "ticktext": texts} | above | bar
        axis = {"cmin": self.low, "cmax": self.high, "colorbar": shown} | colors
        return {self.axis: axis if is_shown else axis | {"showscale": False}}


def cell_texts(
    values: Float[np.ndarray, "row column"],
    rows: Sequence[Any],
    columns: Sequence[Any],
    write: Callable[[Any, Any, float], str],
) -> list[list[str]]:
    """Return the text of each cell: what `write` returns for the names of its row and its column, and its value."""
    return [
        [write(row, column, value) for column, value in zip(columns, numbers, strict=True)]
        for row, numbers in zip(rows, values.tolist(), strict=True)
    ]


def number_cells(
    values: Float[np.ndarray, "row column"],
    scale: "Scale",
    hover_texts: Sequence[Sequence[str]] | Mapping[str, Any],
    *,
    name: str,
    write: Callable[[float], str] | None = None,
    is_written: bool = False,
    gap: int | None = None,
    axes: Mapping[str, str] | None = None,
) -> list[Any]:
    """Return the cells of a matrix, and the numbers in them; those that are not finite are blank.

    Args:
        values: one number per cell.
        scale: of the colors.
        hover_texts: of each cell; or the parts of the trace that show them.
        name: of the trace.
        write: as for `numbers_in_cells`.
        is_written: whether there are numbers in the cells.
        gap: px between cells; None: by their number.
        axes: `xaxis` and `yaxis`, where they are not the figure's first.
    """
    gap = int(max(values.shape) <= _GAPS_UP_TO) if gap is None else gap
    words = hover_texts if isinstance(hover_texts, Mapping) else elements.hover(np.array(hover_texts, dtype=object))
    look: dict[str, Any] = {"name": name, "coloraxis": scale.axis, "xgap": gap, "ygap": gap, **words, **(axes or {})}
    z = np.where(np.isfinite(values), values, np.nan).astype(np.float32)
    cells = [go.Heatmap(**{"z": z, "hoverongaps": True} | look)]
    return [*cells, *numbers_in_cells(values, scale, axes, write=write)] if is_written else cells


def numbers_in_cells(
    values: Float[np.ndarray, "row column"],
    scale: Scale,
    axes: Mapping[str, str] | None = None,
    *,
    write: Callable[[float], str] | None = None,
) -> list[go.Scatter]:
    """Return the finite numbers as texts in their cells.

    Args:
        values: of all cells.
        scale: of their colors.
        axes: `xaxis` and `yaxis`, where they are not the figure's first.
        write: returns the text of a number; None: it is rounded to the scale's decimals.
    """
    rows, columns = np.nonzero(np.isfinite(values))
    seen = values[rows, columns]
    numbers = seen.tolist()
    texts = [*map(write, numbers)] if write else all_rounded(numbers, scale.decimals)
    return number_traces(columns, rows, texts, scale.is_deep(seen), **(axes or {}))
