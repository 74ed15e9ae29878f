"""The scores of a head as a sum: a small matrix for each part and for the sum, and a bar for each part's share."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float

from headlight.figures.heatmaps.cells import FORBIDDEN, masked_cells
from headlight.figures.heatmaps.numbers import Scale, number_heatmap
from headlight.figures.hues import FAINT, STRONG, WARM
from headlight.figures.labels import LINE, escape, shorten, text_width
from headlight.figures.layout import (
    add_panel,
    axis_title,
    bar_trace,
    border_lines,
    figure_layout,
    figure_of,
    label_axis,
    note,
    row_axis,
)
from headlight.figures.quantities import rounded
from headlight.figures.theme import KEY, QUERY
from headlight.figures.token_grid import TokenAxis, TokenGrid
from headlight.language import say

_IN_ROW = 3  # matrices beside each other
_TITLE, _NAME, _GAP, _LEFT, _RIGHT = 28, 24, 14, 100, 64  # px
_LETTERS = 9  # of a token beside a small matrix
_BAR = 27  # px
_CELLS = (150, 250)  # px: how high the cells of a matrix are together, at least and at most


def position_parts(
    parts: Mapping[str, Float[np.ndarray, "query key"]],
    shares: Mapping[str, float],
    scores: Float[np.ndarray, "query key"],
    mask: Bool[np.ndarray, "query key"],
    grid: TokenGrid,
    *,
    title: str,
) -> go.Figure:
    """Draw a matrix for each part and one for the scores, all on one scale.

    Args:
        parts: by their names; they sum to the scores.
        shares: by the same names; together 1, NaN where undefined.
        scores: where the mask allows it.
        mask: True = may attend; other cells have a neutral color.
        grid: tokens and names.
        title: names the head.

    Raises:
        ValueError: labels, parts and shares do not fit together.
    """
    total = say("sum: the scores")
    panels = {**parts, total: scores}
    if any(part.shape != mask.shape for part in panels.values()) or [*parts] != [*shares]:
        raise ValueError("Parts, shares, scores and mask do not fit together; give each part a share, and one shape.")
    queries, keys = grid.axes(scores.shape)
    n_columns = min(_IN_ROW, len(panels))
    n_rows = math.ceil(len(panels) / n_columns)
    cells = min(max(LINE * queries.n_cells, _CELLS[0]), _CELLS[1])
    longest = max((text_width(shorten(token, _LETTERS)) for token in keys.tokens), default=0.0)
    inner = n_rows * (_NAME + cells) + (n_rows - 1) * _GAP
    below_all = round(min(longest, 11 * 7) + 34)
    scale = Scale.of([panel[mask] for panel in panels.values()], diverging=True, decimals=1)
    height = inner + _TITLE + below_all
    layout = figure_layout(title, height=height, margin=(_LEFT, _RIGHT, _TITLE, below_all))
    layout |= {"annotations": [], "shapes": [], "showlegend": False} | scale.layout()
    traces: list[Any] = []
    across = (1 - 0.03 * (n_columns - 1)) / n_columns
    for number, (name, values) in enumerate(panels.items()):
        row, column = divmod(number, n_columns)
        left = column * (across + 0.03)
        above = 1 - (row * (_NAME + cells + _GAP) + _NAME) / inner
        x, y = _axis(keys, is_labelled=row == n_rows - 1), _axis(queries, is_labelled=column == 0)
        if row == n_rows - 1 and column == n_columns // 2:
            x["title"] = _named(grid.key_name, KEY)
        if column == 0 and row == (n_rows - 1) // 2:
            y["title"] = _named(grid.query_name, QUERY)
        y["range"] = y["range"][::-1]
        refs = add_panel(layout, number, x, y, across=(left, left + across), down=(above - cells / inner, above))
        traces += _matrix(name, values, mask, queries, keys, refs)
        layout["shapes"] += border_lines(queries.tokens, keys.tokens, **refs)
        sign = "= " if name == total else "+ " if number else ""
        share = shares.get(name, math.nan)
        percent = "" if math.isnan(share) else f"  {rounded(100 * share, 0)} %"
        header = f"{sign}<b>{escape(name)}</b>{percent}"
        layout["annotations"].append(note(header, x=left, y=above, anchor=("left", "bottom"), size=13))
    return figure_of(traces, layout)


def _named(name: str, hue: str) -> dict[str, Any]:
    """Return the title of an axis."""
    return axis_title(f"<b>{escape(name)}</b>", size=13, standoff=6, hue=hue)


def _matrix(
    name: str,
    values: Float[np.ndarray, "query key"],
    mask: Bool[np.ndarray, "query key"],
    queries: TokenAxis,
    keys: TokenAxis,
    refs: Mapping[str, str],
) -> list[go.Heatmap]:
    """Return the cells of one part, and the masked ones."""
    hover_texts = [
        [
            f"{query} \u2192 {key}<br>{escape(name)}: {rounded(value, 3)}"
            for key, value in zip(keys.words, row, strict=True)
        ]
        for query, row in zip(queries.words, values.tolist(), strict=True)
    ]
    gap = 1 if max(values.shape) <= 24 else 0
    look = {"hoverongaps": False, "xgap": gap, "ygap": gap, **refs}
    shown = np.where(mask, values, np.nan)
    traces = [number_heatmap(shown, hover_texts, name=escape(name), axis="coloraxis3", **look)]
    if not mask.all():
        template = f"{escape(say(FORBIDDEN))}<extra></extra>"
        traces.insert(0, masked_cells(mask, name="", hovertemplate=template, hoverongaps=False, **refs))
    return traces


def _axis(tokens: TokenAxis, *, is_labelled: bool) -> dict[str, Any]:
    """Return an axis of tokens, with or without labels."""
    labels = [escape(shorten(token, _LETTERS)) for token in tokens.tokens] if is_labelled else []
    return label_axis(range(len(labels)), labels, size=11, range=[*tokens.ends])


def part_shares(shares: Mapping[str, float], *, title: str) -> go.Figure:
    """Draw a bar for each share, to the left of zero where a part works against the others.

    Args:
        shares: by the names of the parts; together 1, NaN where undefined.
        title: names the quantity.
    """
    values = [0.0 if math.isnan(share) else share for share in shares.values()]
    hover_texts = [
        f"{escape(name)}: " + (say("no differences") if math.isnan(share) else f"{rounded(100 * share, 1)} %")
        for name, share in shares.items()
    ]
    color = [STRONG if value >= 0 else WARM for value in values]
    bars = bar_trace("", values, [*range(len(values))], hover_texts, color=color, is_lying=True, width=0.62)
    layout = figure_layout(title, height=_BAR * len(values) + 74, margin=(8, 24, 34, 40)) | {
        "showlegend": False,
        "xaxis": {"range": [min(0.0, *values, 0.0) * 1.1, max(1.0, *values, 1.0) * 1.02], "tickformat": ".0%"}
        | {"showgrid": True, "zeroline": True, "zerolinecolor": FAINT, "tickfont": {"size": 11}, "nticks": 6}
        | {"title": {"text": escape(say("share of the variance within rows")), "font": {"size": 12}}},
        "yaxis": row_axis([*map(escape, shares)], size=12),
    }
    return figure_of([bars], layout)
