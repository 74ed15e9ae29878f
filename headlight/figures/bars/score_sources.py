"""Why this cell? One score as a sum over pairs: a source of its query, and a source of its key."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from headlight.figures.heatmaps.cells import NUMBERS_UP_TO
from headlight.figures.heatmaps.numbers import Scale, number_heatmap, numbers_in_cells
from headlight.figures.hues import FAINT
from headlight.figures.labels import LINE, escape, shorten, text_width
from headlight.figures.layout import axis_title, figure_layout, figure_of, label_axis
from headlight.figures.quantities import rounded
from headlight.figures.theme import KEY, QUERY
from transformer_core.language import say

MOST_SOURCES = 12  # a side; of more, the largest, and the others as one

_ROW = 26  # px
_LEAST = 170  # px that the rows take, so that the title beside them has room
_LABEL = 30  # characters of a source
_TOP, _RIGHT, _AXIS = 52, 70, 22  # px: title and subtitle, the bar of colors, the title of an axis
_NUMBER = 34  # px that a number of five letters in a cell takes


def score_sources_heatmap(
    values: Float[np.ndarray, "source_q source_k"],
    query_sources: Sequence[str],
    key_sources: Sequence[str],
    *,
    query: str,
    key: str,
    title: str,
    width: int = 760,
    height: int | None = None,
) -> go.Figure:
    """Draw what each pair of sources adds to a score, and beside the cells what each source adds alone.

    Args:
        values: they sum to the score.
        query_sources: what the query is the sum of, the rows.
        key_sources: what the key is the sum of, the columns.
        query: the query in words, "query 7 'it'".
        key: the key in words.
        title: names the quantity.
        width: px that the figure is laid out for; it takes the width that it is given.
        height: px; None: what the rows need.

    Returns:
        A figure over integer positions, its largest cell in words in the subtitle; the sums of rows, of columns and of
        all stand after the last of them.
        Of more than `MOST_SOURCES` sources a side the largest are drawn, in their order, and the others as one.

    Raises:
        ValueError: the names do not fit.
    """
    if (len(query_sources), len(key_sources)) != values.shape:
        raise ValueError(
            f"There are {values.shape[0]} rows and {values.shape[1]} columns, but {len(query_sources)} and "
            f"{len(key_sources)} names of sources; give one each."
        )
    strongest = _strongest(values, query_sources, key_sources)
    values, rows = _largest(values, query_sources)
    transposed, columns = _largest(values.T, key_sources)
    values = transposed.T
    n_rows, n_columns = values.shape
    scale = Scale.of([values], diverging=True, decimals=1)
    sums = np.block([[values, values.sum(axis=1, keepdims=True)], [values.sum(axis=0), values.sum()]])
    together = say("total")
    left = max(text_width(shorten(name, _LABEL)) for name in (*rows, together)) + _AXIS
    pitch = (width - left - _RIGHT) / (n_columns + 1)
    is_slanted = max(text_width(shorten(name, _LABEL)) for name in (*columns, together)) > 0.95 * pitch
    below = 0.6 * max(text_width(shorten(name, _LABEL)) for name in (*columns, together)) if is_slanted else LINE
    traces = _cells(sums, _hover_texts(sums, (*rows, together), (*columns, together), query, key))
    if n_columns <= NUMBERS_UP_TO:
        traces += numbers_in_cells(sums, scale, write=lambda value: _signed(value, 2 if abs(value) < 9.995 else 1))
    height = height or round(_TOP + max((n_rows + 1) * _ROW, _LEAST) + below + _AXIS + 12)
    margin = (left, _RIGHT, _TOP, below + _AXIS + 12)
    layout = figure_layout(title, height=height, margin=margin, subtitle=strongest) | {
        "xaxis": _axis(say("source of {token}", token=key), columns, together, KEY)
        | {"range": [-0.5, n_columns + 0.5], "tickangle": -45 if is_slanted else 0},
        "yaxis": _axis(say("source of {token}", token=query), rows, together, QUERY) | {"range": [n_rows + 0.5, -0.5]},
        "shapes": _lines(n_rows, n_columns),
        "meta": {"textFromWidth": round(left + _RIGHT + _NUMBER * (n_columns + 1))},
    }
    return figure_of(traces, layout | scale.layout(len=1))


def _strongest(
    values: Float[np.ndarray, "source_q source_k"], query_sources: Sequence[str], key_sources: Sequence[str]
) -> str:
    """Say which pair adds, or takes away, most."""
    row, column = divmod(int(np.abs(values).argmax()), len(key_sources))
    fields = {"query": query_sources[row], "key": key_sources[column], "value": _signed(values[row, column].item())}
    return say("Largest contribution: {query} × {key} {value}", **fields)


def _largest(
    values: Float[np.ndarray, "source other"], names: Sequence[str]
) -> tuple[Float[np.ndarray, "_ other"], list[str]]:
    """Return the rows with the largest cells, in their order, and the sum of the others after them."""
    if len(names) <= MOST_SOURCES:
        return values, [*names]
    order = np.argsort(-np.abs(values).max(axis=1), kind="stable")
    kept, others = np.sort(order[: MOST_SOURCES - 1]), order[MOST_SOURCES - 1 :]
    summed = np.vstack([values[kept], values[others].sum(axis=0)])
    return summed, [*(names[place] for place in kept.tolist()), say("{n} others", n=len(others))]


def _cells(sums: Float[np.ndarray, "row column"], hover_texts: list[list[str]]) -> list[Any]:
    """Return the cells, then the sums of rows, of columns and of all."""
    n_rows, n_columns = sums.shape
    inner, last = slice(None, -1), slice(-1, None)
    texts = np.array(hover_texts, dtype=object)
    return [
        number_heatmap(
            sums[rows, columns],
            texts[rows, columns].tolist(),
            name=say("score"),
            axis="coloraxis3",
            **{"x0": 0 if columns == inner else n_columns - 1, "dx": 1, "xgap": 1},
            **{"y0": 0 if rows == inner else n_rows - 1, "dy": 1, "ygap": 1},
        )
        for rows, columns in ((inner, inner), (inner, last), (last, inner), (last, last))
    ]


def _hover_texts(
    sums: Float[np.ndarray, "row column"], rows: Sequence[str], columns: Sequence[str], query: str, key: str
) -> list[list[str]]:
    """Each cell in words."""
    return [
        [
            f"{escape(query)}: {escape(row)}<br>{escape(key)}: {escape(column)}<br>{_signed(value)}"
            for column, value in zip(columns, of_row, strict=True)
        ]
        for row, of_row in zip(rows, sums.tolist(), strict=True)
    ]


def _lines(n_rows: int, n_columns: int) -> list[dict[str, Any]]:
    """Return what parts the cells from their sums."""
    line = {"type": "line", "line": {"color": FAINT, "width": 1.5}}
    ends = {"x0": -0.5, "x1": n_columns + 0.5}, {"y0": -0.5, "y1": n_rows + 0.5}
    return [
        line | ends[0] | {"y0": n_rows - 0.5, "y1": n_rows - 0.5},
        line | ends[1] | {"x0": n_columns - 0.5, "x1": n_columns - 0.5},
    ]


def _signed(value: float, decimals: int = 2) -> str:
    written = rounded(value, decimals)
    return written if value <= 0 or not float(written) else f"+{written}"


def _axis(title: str, names: Sequence[str], together: str, hue: str) -> dict[str, Any]:
    texts = [*(escape(shorten(name, _LABEL)) for name in names), f"<b>{escape(together)}</b>"]
    return label_axis(range(len(texts)), texts, size=12, title=axis_title(escape(title), size=13, standoff=6, hue=hue))
