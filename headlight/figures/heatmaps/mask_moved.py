"""Changes of the outputs when a text is edited, under two masks: two matrices on one scale."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from headlight.figures import elements
from headlight.figures.heatmaps.cells import NUMBERS_UP_TO
from headlight.figures.heatmaps.number_panels import Scale, cell_texts, numbers_in_cells
from headlight.figures.labels import LINE, escape, isolate, shorten, text_width
from headlight.figures.theme import KEY, QUERY
from headlight.figures.token_grid import TokenGrid
from headlight.language import localized, say

_COLORBAR = {"thickness": 10, "len": 0.6, "y": 1, "yanchor": "top", "tickformat": ".2~f"}
_GAP = 0.06  # fraction of the width, between the two matrices
_ROOM = 150  # px beside the two matrices: labels, and the color bar
_SMALL = 0.05  # logits: smaller nonzero changes are written as about 0
_NUMBER = 26  # px that a number takes in its cell
_HEIGHT = 460  # px


def moved_pair(
    moved: tuple[Float[np.ndarray, "row column"], Float[np.ndarray, "row column"]],
    grid: TokenGrid,
    *,
    titles: tuple[str, str],
    hover_form: str,
    title: str,
    subtitle: str = "",
) -> go.Figure:
    """Draw two matrices of changes side by side. A cell of exactly 0 is neutral: nothing changed.

    Args:
        moved: changes of logits, at least 0.
        grid: labels and names of the rows and columns of both; its marked key is framed.
        titles: of the two matrices.
        hover_form: a text with {row}, {row_label}, {column}, {column_label} and {value}.
        title: names the quantity.
        subtitle: plain text below the title.

    Returns:
        A figure over integer positions, the first row at the top; the color range is from 0 to the largest change.

    Raises:
        ValueError: the labels do not fit the matrices.
    """
    for cells in moved:
        queries, keys = grid.axes(cells.shape)
    rows, columns, chosen = grid.query_tokens, grid.key_tokens, grid.marked[1]
    most = max(float(cells.max(initial=0.0)) for cells in moved) or 1.0
    half = (1 - _GAP) / 2
    longest = max(text_width(shorten(label)) for label in columns)
    top = (4 if subtitle else 2) * LINE + 24 + longest * 0.72
    layout = elements.figure_layout(title, height=grid.height or _HEIGHT, margin=(8, 8, top, 34), subtitle=subtitle) | {
        "meta": {"textFromWidth": _ROOM + round(2 * _NUMBER * len(columns) / (1 - _GAP))}
        | ({} if chosen is None else {"chosen": {"xaxis": chosen, "xaxis2": chosen}}),
        "coloraxis": {"cmin": 0, "cmax": most, "colorbar": _COLORBAR},
        "annotations": [
            elements.note(
                f"<b>{escape(text)}</b>",
                x=(half + _GAP) * side,
                y=0,
                yshift=-8,
                anchor=("left", "top"),
                size=None,
                name="panel",
            )
            for side, text in enumerate(titles)
        ],
        "shapes": [],
    }
    traces: list[Any] = []
    frames = []
    for side, cells in enumerate(moved):
        start = (half + _GAP) * side
        x = _axis(columns, grid.key_name, KEY) | {"side": "top", "range": [*keys.ends], "tickangle": -45}
        y = _axis(rows, "" if side else grid.query_name, QUERY)
        y |= {"range": [*queries.ends][::-1], "automargin": not side}
        y |= {"showticklabels": False, "matches": "y"} if side else {}
        refs = elements.add_panel(layout, side, x, y, across=(start, start + half), down=(0, 1))
        traces += _traces(cells, refs, grid, hover_form, most)
        layout["shapes"] += elements.border_lines(rows, columns, **refs)
        if framed := keys.around(chosen):
            frames.append(elements.frame_around(framed, queries.ends, color=KEY, width=2, axes=refs))
    layout["shapes"] += frames
    return elements.figure_of(traces, layout)


def _traces(
    cells: Float[np.ndarray, "row column"],
    axes: Mapping[str, str],
    grid: TokenGrid,
    form: str,
    most: float,
) -> list[Any]:
    """Return the traces of one matrix: changed cells, unchanged cells, and the numbers where they fit."""
    rows, columns = ([escape(isolate(label)) for label in side] for side in (grid.query_tokens, grid.key_tokens))

    def text(row: int, column: int, value: float) -> str:
        labels = {"row_label": rows[row], "column_label": columns[column]}
        return say(form, row=row, column=column, value=in_words(value), **labels)

    hover_texts = cell_texts(cells, range(len(rows)), range(len(columns)), text)
    common = elements.hover(np.array(hover_texts, dtype=object)) | {"hoverongaps": False, "xgap": 1, "ygap": 1, **axes}
    still = np.where(cells == 0, 0.0, np.nan).astype(np.float32)
    moving = np.where(cells > 0, cells, np.nan).astype(np.float32)
    traces: list[Any] = [
        go.Heatmap(name=say("exactly 0"), z=still, coloraxis="coloraxis2", **common),
        go.Heatmap(name=say("change in logits"), z=moving, coloraxis="coloraxis", **common),
    ]
    if max(cells.shape) <= NUMBERS_UP_TO:

        def write(value: float) -> str:
            return "0" if value == 0 else "≈0" if value < _SMALL else localized(value, ".1f")

        traces += numbers_in_cells(cells, Scale(low=0, high=most), axes, write=write)
    return traces


def in_words(value: float) -> str:
    """Return a change of logits as text; only an exact 0 reads as 0."""
    if value == 0:
        return say("exactly 0")
    return localized(value, ".2f") if value >= 0.005 else f"{value:.0e}".replace("e-0", "e-")


def _axis(labels: Sequence[str], title: str, color: str) -> dict[str, Any]:
    texts = [escape(shorten(label)) for label in labels]
    return elements.label_axis(
        range(len(labels)), texts, size=12, title=elements.bold_title(title, color), ticklabelstandoff=3
    )
