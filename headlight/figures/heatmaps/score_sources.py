"""One attention score as a sum over pairs of a source of its query and a source of its key."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from headlight.figures.heatmaps.cells import NUMBERS_UP_TO
from headlight.figures.heatmaps.numbers import Scale, number_heatmap, numbers_in_cells
from headlight.figures.hues import FAINT
from headlight.figures.labels import LINE, escape, shorten, text_width
from headlight.figures.layout import axis_title, figure_layout, figure_of, label_axis, segment
from headlight.figures.quantities import rounded
from headlight.figures.theme import KEY, QUERY
from headlight.language import say

MOST_SOURCES = 12  # per side

_ROW = 26  # px
_LEAST = 170  # px of all rows, at least: room for the title of the axis
_LABEL = 30  # characters of a source
_TOP, _RIGHT, _AXIS = 52, 70, 22  # px: title and subtitle, the bar of colors, the title of an axis
_NUMBER = 34  # px of a number of five letters in a cell
_WIDTH = 760  # px that the figure is laid out for


def score_sources_heatmap(
    values: Float[np.ndarray, "source_q source_k"],
    query_sources: Sequence[str],
    key_sources: Sequence[str],
    *,
    query: str,
    key: str,
    title: str,
) -> go.Figure:
    """Draw the contribution of each pair of sources to a score, and the sum of each row and column.

    Args:
        values: they sum to the score.
        query_sources: the summands of the query, the rows.
        key_sources: the summands of the key, the columns.
        query: name of the query, "query 7 'it'".
        key: name of the key.
        title: names the quantity.

    Returns:
        A figure over integer positions, with its largest cell in the subtitle; the sums are after the last row and
        column. Of more than `MOST_SOURCES` sources per side the largest are drawn, in their order, and the others as
        one.

    Raises:
        ValueError: the names do not fit.
    """
    if (len(query_sources), len(key_sources)) != values.shape:
        raise ValueError(
            f"There are {values.shape[0]} rows and {values.shape[1]} columns, but {len(query_sources)} and "
            f"{len(key_sources)} names of sources; give one each."
        )
    row, column = divmod(int(np.abs(values).argmax()), len(key_sources))
    pair = {"query": query_sources[row], "key": key_sources[column], "value": _signed(values[row, column].item())}
    largest = say("Largest contribution: {query} × {key} {value}", **pair)
    values, rows = _largest(values, query_sources)
    transposed, columns = _largest(values.T, key_sources)
    values = transposed.T
    rows, columns = [*rows, say("total")], [*columns, say("total")]
    scale = Scale.of([values], diverging=True, decimals=1)
    sums = np.block([[values, values.sum(axis=1, keepdims=True)], [values.sum(axis=0), values.sum()]])
    left, longest = (max(text_width(shorten(name, _LABEL)) for name in names) for names in (rows, columns))
    left += _AXIS
    is_slanted = longest > 0.95 * (_WIDTH - left - _RIGHT) / len(columns)
    below = (0.6 * longest if is_slanted else LINE) + _AXIS + 12
    hover_texts = [
        [
            f"{escape(query)}: {escape(of_query)}<br>{escape(key)}: {escape(of_key)}<br>{_signed(value)}"
            for of_key, value in zip(columns, numbers, strict=True)
        ]
        for of_query, numbers in zip(rows, sums.tolist(), strict=True)
    ]
    traces: list[Any] = [number_heatmap(sums, hover_texts, name=say("score"), axis="coloraxis3", xgap=1, ygap=1)]
    if len(columns) <= NUMBERS_UP_TO:
        traces += numbers_in_cells(sums, scale, write=lambda value: _signed(value, 2 if abs(value) < 9.995 else 1))
    height = round(_TOP + max(len(rows) * _ROW, _LEAST) + below)
    ends, edges = (len(columns) - 0.5, len(rows) - 0.5), (len(columns) - 1.5, len(rows) - 1.5)
    layout = figure_layout(title, height=height, margin=(left, _RIGHT, _TOP, below), subtitle=largest) | {
        "xaxis": _axis(say("source of {token}", token=key), columns, KEY)
        | {"range": [-0.5, ends[0]], "tickangle": -45 if is_slanted else 0},
        "yaxis": _axis(say("source of {token}", token=query), rows, QUERY) | {"range": [ends[1], -0.5]},
        "shapes": [
            segment((-0.5, ends[0]), (edges[1], edges[1]), color=FAINT, width=1.5),
            segment((edges[0], edges[0]), (-0.5, ends[1]), color=FAINT, width=1.5),
        ],
        "meta": {"textFromWidth": round(left + _RIGHT + _NUMBER * len(columns))},
    }
    return figure_of(traces, layout | scale.layout(len=1))


def _largest(
    values: Float[np.ndarray, "source other"], names: Sequence[str]
) -> tuple[Float[np.ndarray, "_ other"], list[str]]:
    """Return the rows with the largest cells, in their order, then the sum of the others."""
    if len(names) <= MOST_SOURCES:
        return values, [*names]
    order = np.argsort(-np.abs(values).max(axis=1), kind="stable")
    kept, others = np.sort(order[: MOST_SOURCES - 1]), order[MOST_SOURCES - 1 :]
    summed = np.vstack([values[kept], values[others].sum(axis=0)])
    return summed, [*(names[place] for place in kept.tolist()), say("{n} others", n=len(others))]


def _signed(value: float, decimals: int = 2) -> str:
    number = rounded(value, decimals)
    return f"+{number}" if round(value, decimals) > 0 else number


def _axis(title: str, names: Sequence[str], hue: str) -> dict[str, Any]:
    """Return the axis of sources; the last label, of the sums, is bold."""
    labels = [escape(shorten(name, _LABEL)) for name in names]
    labels[-1] = f"<b>{escape(names[-1])}</b>"
    title_of = axis_title(escape(title), size=13, standoff=6, hue=hue)
    return label_axis(range(len(labels)), labels, size=12, title=title_of)
