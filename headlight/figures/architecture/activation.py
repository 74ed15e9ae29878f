"""A captured activation: its numbers as cells, the norms of its vectors, and the distribution of the numbers."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int

from headlight.figures import elements
from headlight.figures.heatmaps.cells import FORBIDDEN, browser_words, masked_cells
from headlight.figures.heatmaps.number_panels import Scale
from headlight.figures.labels import LINE, escape, isolate, shorten, text_width
from headlight.figures.theme import FAINT, STRONG
from headlight.language import localized, say
from transformer_core.errors import mark

_TITLE, _SUBTITLE, _AXIS_TITLE, _BOTTOM = 28, 20, 22, 40  # px: lines above the cells, and the margin below
_SPREAD = 0.2  # fraction of the height, for the distribution of the numbers
_BETWEEN = 0.07  # fraction of the height, between the cells and the distribution
_BESIDE = 0.2  # fraction of the width, for the lengths
_FEW = 48  # maximum cells per side that are drawn with gaps
_MANY_LABELS = 24  # maximum columns with slanted labels; with more, labels are upright
_LABEL = 12  # characters of a token


def activation_figure(
    cells: Float[np.ndarray, "row column"],
    tokens: Sequence[str],
    *,
    title: str,
    subtitle: str = "",
    rows: Int[np.ndarray, " row"] | None = None,
    columns: Int[np.ndarray, " column"] | None = None,
    n_columns: int | None = None,
    column_name: str = "",
    column_tokens: Sequence[str] | None = None,
    row_name: str = "",
    lengths: Float[np.ndarray, " pos"] | None = None,
    counts: Int[np.ndarray, " bin"],
    edges: Float[np.ndarray, " edge"],
    height: int = 520,
) -> go.Figure:
    """Draw an activation of one text.

    Args:
        cells: one number per cell, NaN where undefined; for a block, the one with the largest absolute value.
        tokens: the label of every position.
        title: names the activation.
        subtitle: plain text below the title.
        rows: first position of each row; None: one position per row.
        columns: first column of the activation in each column; None: one each.
        n_columns: columns of the activation; None: one per cell of a row.
        column_name: title of the axis of columns.
        column_tokens: the label of every column, where they are tokens.
        row_name: title of the axis of rows.
        lengths: Euclidean norm of the vector at each position; None where rows are not vectors.
        counts: how many numbers are in each bin.
        edges: of the bins.
        height: px.

    Raises:
        ValueError: counts and edges, or tokens and lengths, do not fit.
    """
    if len(edges) != len(counts) + 1 or (lengths is not None and len(lengths) != len(tokens)):
        raise ValueError(
            f"There are {len(counts)} counts and {len(edges)} edges, {len(tokens)} tokens and "
            f"{'no' if lengths is None else len(lengths)} lengths; give one edge more than counts, a length a token."
        )
    n_rows, n_columns = len(tokens), n_columns or cells.shape[1]
    row_starts = [*(range(len(cells)) if rows is None else rows.tolist()), n_rows]
    column_starts = [*(range(cells.shape[1]) if columns is None else columns.tolist()), n_columns]
    low, high = float(edges[0]), float(edges[-1])
    scale = Scale(low=low, high=high, diverging=low < 0)
    is_pooled = cells.shape != (n_rows, n_columns)
    columns_named = (
        _named(column_starts, mark("dimension {place}"), mark("dimensions {first} to {last}"))
        if column_tokens is None
        else [f"'{escape(isolate(column_tokens[start]))}'" for start in column_starts[:-1]]
    )
    words = browser_words(
        _named(row_starts, mark("position {place} '{token}'"), mark("positions {first} to {last}"), tokens),
        columns_named,
        before=say("at most ") if is_pooled else "",
        form="+.3f" if low < 0 else ".3f",
    )
    blocks = {"blocks": {"queries": row_starts, "keys": column_starts}} if is_pooled else {}
    bottom = _SPREAD + _BETWEEN
    across = [0, 1 - _BESIDE - 0.03] if lengths is not None else [0, 1]
    angle = -45 if len(column_tokens or ()) <= _MANY_LABELS else -90
    widths = [text_width(shorten(token, _LABEL)) for token in column_tokens or ()]
    above = max(widths) / (math.sqrt(2) if angle == -45 else 1) + 8 if widths else LINE
    top = _TITLE + (_SUBTITLE if subtitle else 0) + (_AXIS_TITLE if column_name else 0) + above
    leaning = max(widths[-4:], default=0.0) / math.sqrt(2) if angle == -45 and lengths is None else 0
    margin = (8, 8 + leaning, top, _BOTTOM)
    most, numbers = int(counts.max(initial=1)), {"tickfont": {"size": 11}}
    labels = [escape(isolate(shorten(token, _LABEL))) for token in tokens]
    x = elements.cell_axis(n_columns, title=elements.axis_title(escape(column_name)))
    if column_tokens is None:
        x |= {"tickfont": {"size": 11}, "ticks": "", "nticks": 6, "tickformat": ",d"}
    else:
        names = [escape(isolate(shorten(token, _LABEL))) for token in column_tokens]
        x |= elements.label_axis(range(len(names)), names, size=11, tickangle=angle)
    layout = elements.figure_layout(title, height=height, margin=margin, subtitle=subtitle) | {
        "meta": words.meta | blocks,
        "showlegend": False,
        "bargap": 0,
        "xaxis": x | {"domain": across, "anchor": "y"},
        "yaxis": elements.row_axis(labels, size=11, title=elements.axis_title(escape(row_name)), domain=[bottom, 1]),
        "xaxis3": {"domain": [0, 1], "anchor": "y3", "range": [low, high], "title": elements.axis_title(say("value"))}
        | {"nticks": 9}
        | numbers,
        "yaxis3": {
            "domain": [0, _SPREAD],
            "anchor": "x3",
            "title": elements.axis_title(say("count")),
            "automargin": True,
        }
        | {"type": "log", "range": [np.log10(0.5), np.log10(max(2, most * 1.6))]}
        | {"nticks": 4, "dtick": 1 if most < 1e4 else 2}
        | numbers,
    }
    layout |= scale.layout(is_shown=False)
    where = {"x": [start - 0.5 for start in column_starts], "y": [start - 0.5 for start in row_starts]}
    options = words.trace | (where if is_pooled else {})
    z, gap = cells.astype(np.float32), 1 if max(cells.shape) <= _FEW else 0
    traces: list[Any] = [masked_cells(~np.isnan(z), name=FORBIDDEN, **options)] if np.isnan(z).any() else []
    traces.append(go.Heatmap(name="cells", z=z, coloraxis=scale.axis, xgap=gap, ygap=gap, **options))
    traces.append(_spread(counts, edges, scale.axis))
    if lengths is not None:
        longest = float(lengths.max(initial=0)) or 1
        layout["xaxis2"] = numbers | {"domain": [1 - _BESIDE, 1], "anchor": "y", "side": "top", "nticks": 3}
        layout["xaxis2"] |= {"range": [0, 1.05 * longest], "title": elements.axis_title(say("norm"))}
        traces.append(_lengths(lengths, tokens))
    return elements.figure_of(traces, layout)


def _spread(counts: Int[np.ndarray, " bin"], edges: Float[np.ndarray, " edge"], axis: str) -> go.Bar:
    """Return a bar for each bin, in the color of its numbers."""
    centers, form = (edges[:-1] + edges[1:]) / 2, say("{n} values from {low} to {high}")
    hover_texts = [
        form.format(n=localized(count), low=localized(low, ".3g"), high=localized(high, ".3g"))
        for count, low, high in zip(counts.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    ]
    marker = {"color": centers, "coloraxis": axis, "line": {"color": FAINT, "width": 1}}
    return elements.bar_trace(
        "spread", counts, centers, hover_texts, color=marker, width=np.diff(edges), **elements.axis_names(2)
    )


def _lengths(lengths: Float[np.ndarray, " pos"], tokens: Sequence[str]) -> go.Bar:
    form = say("position {place} '{token}': norm {length}")
    hover_texts = [
        form.format(place=place, token=escape(isolate(token)), length=localized(n, ".3g"))
        for place, (token, n) in enumerate(zip(tokens, lengths.tolist(), strict=True))
    ]
    look: dict[str, Any] = {"color": STRONG, "is_horizontal": True, "width": 0.7, "xaxis": "x2", "yaxis": "y"}
    return elements.bar_trace("lengths", lengths.astype(np.float64), np.arange(len(lengths)), hover_texts, **look)


def _named(starts: Sequence[int], one: str, many: str, tokens: Sequence[str] = ()) -> list[str]:
    """Return a name for each row or column: `one` for a single place, `many` for a block of them."""
    return [
        say(one, place=start, token=escape(isolate(tokens[start])) if tokens else "")
        if end - start == 1
        else say(many, first=start, last=end - 1)
        for start, end in pairwise(starts)
    ]
