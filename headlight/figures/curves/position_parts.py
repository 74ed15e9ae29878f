"""The scores of a head as a sum: a small matrix for each part and for the sum, and a bar for each part's share."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float

from headlight.figures.heatmaps.cells import FORBIDDEN
from headlight.figures.heatmaps.numbers import Scale, number_heatmap
from headlight.figures.hues import FAINT, STRONG, WARM
from headlight.figures.labels import LINE, escape, shorten, text_width
from headlight.figures.layout import (
    axis_names,
    axis_title,
    border_lines,
    figure_layout,
    figure_of,
    hover,
    label_axis,
    note,
)
from headlight.figures.quantities import rounded
from headlight.figures.theme import KEY, QUERY
from headlight.figures.token_axes import Places
from transformer_core.language import say

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
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    *,
    title: str,
    query_name: str = "query",
    key_name: str = "key",
) -> go.Figure:
    """Draw a matrix for each part and one for the scores, all on one scale.

    Args:
        parts: by their names; they add up to the scores.
        shares: by the same names; together 1, NaN where there is none.
        scores: where the mask allows it.
        mask: True = may attend; other cells are painted in a neutral color.
        query_tokens: the labels of the rows.
        key_tokens: the labels of the columns.
        title: names the head.
        query_name: what the rows are.
        key_name: what the columns are.

    Raises:
        ValueError: labels, parts and shares do not fit together.
    """
    shape = (len(query_tokens), len(key_tokens))
    if any(part.shape != shape for part in (*parts.values(), scores, mask)) or [*parts] != [*shares]:
        raise ValueError(
            "Parts, shares, scores, mask and labels do not fit together; give one label a row and a column."
        )
    total = say("sum: the scores")
    panels = {**parts, total: scores}
    n_columns = min(_IN_ROW, len(panels))
    n_rows = math.ceil(len(panels) / n_columns)
    cells = min(max(LINE * shape[0], _CELLS[0]), _CELLS[1])
    longest = max((text_width(shorten(token, _LETTERS)) for token in key_tokens), default=0.0)
    inner = n_rows * (_NAME + cells) + (n_rows - 1) * _GAP
    below_all = round(min(longest, 11 * 7) + 34)
    height = inner + _TITLE + below_all
    scale = Scale.of([panel[mask] for panel in panels.values()], diverging=True, decimals=1)
    queries = Places(kind="query", tokens=query_tokens, n_cells=shape[0])
    keys = Places(kind="key", tokens=key_tokens, n_cells=shape[1])
    layout = figure_layout(title, height=height, margin=(_LEFT, _RIGHT, _TITLE, below_all))
    layout |= {"annotations": [], "shapes": [], "showlegend": False} | scale.layout()
    traces: list[Any] = []
    across = (1 - 0.03 * (n_columns - 1)) / n_columns
    for number, (name, values) in enumerate(panels.items()):
        row, column = divmod(number, n_columns)
        left = column * (across + 0.03)
        above = 1 - (row * (_NAME + cells + _GAP) + _NAME) / inner
        below = above - cells / inner
        refs = axis_names(number)
        suffix = refs["xaxis"][1:]
        traces += _matrix(name, values, mask, queries, keys, refs)
        layout["shapes"] += border_lines(query_tokens, key_tokens, **refs)
        domain = {"x": [left, min(left + across, 1.0)], "y": [max(below, 0.0), above]}
        layout[f"xaxis{suffix}"] = _axis(key_tokens, is_labelled=row == n_rows - 1) | {
            "domain": domain["x"],
            "anchor": refs["yaxis"],
            "range": [-0.5, shape[1] - 0.5],
        }
        layout[f"yaxis{suffix}"] = _axis(query_tokens, is_labelled=column == 0) | {
            "domain": domain["y"],
            "anchor": refs["xaxis"],
            "range": [shape[0] - 0.5, -0.5],
        }
        if row == n_rows - 1 and column == n_columns // 2:
            layout[f"xaxis{suffix}"]["title"] = _named(key_name, KEY)
        if column == 0 and row == (n_rows - 1) // 2:
            layout[f"yaxis{suffix}"]["title"] = _named(query_name, QUERY)
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
    queries: Places,
    keys: Places,
    refs: Mapping[str, str],
) -> list[go.Heatmap]:
    """Return the cells of one part; those that the mask forbids in a neutral color."""
    hover_texts = [
        [
            f"{query} \u2192 {key}<br>{escape(name)}: {rounded(value, 3)}"
            for key, value in zip(keys.words, row, strict=True)
        ]
        for query, row in zip(queries.words, values.tolist(), strict=True)
    ]
    gap = 1 if max(values.shape) <= 24 else 0
    look = {"hoverongaps": False, "xgap": gap, "ygap": gap, **refs}
    drawn = np.where(mask, values, np.nan)
    traces = [number_heatmap(drawn, hover_texts, name=escape(name), axis="coloraxis3", **look)]
    if not mask.all():
        blank = np.where(mask, np.nan, 0.0).astype(np.float32)
        words = f"{escape(say(FORBIDDEN))}<extra></extra>"
        traces.insert(
            0, go.Heatmap(name="", z=blank, coloraxis="coloraxis2", hovertemplate=words, hoverongaps=False, **refs)
        )
    return traces


def _axis(tokens: Sequence[str], *, is_labelled: bool) -> dict[str, Any]:
    """Return an axis of tokens, its labels only where they are asked for."""
    places = range(len(tokens)) if is_labelled else range(0)
    return label_axis(places, [escape(shorten(tokens[place], _LETTERS)) for place in places], size=11)


def part_shares(shares: Mapping[str, float], *, title: str, width: int = 520, height: int | None = None) -> go.Figure:
    """Draw a bar for each share, to the left of zero where a part works against the others.

    Args:
        shares: by the names of the parts; together 1, NaN where there is none.
        title: names the quantity.
        width: px that the figure is laid out for; it takes the width that it is given.
        height: px; None: what the bars need.
    """
    values = [0.0 if math.isnan(share) else share for share in shares.values()]
    hover_texts = [
        f"{escape(name)}: " + (say("no differences") if math.isnan(share) else f"{rounded(100 * share, 1)} %")
        for name, share in shares.items()
    ]
    bars = go.Bar(
        x=values,
        y=list(range(len(values))),
        orientation="h",
        marker={"color": [STRONG if value >= 0 else WARM for value in values]},
        width=0.62,
        **hover(hover_texts),
    )
    layout = figure_layout(title, height=height or _BAR * len(values) + 74, margin=(8, 24, 34, 40)) | {
        "showlegend": False,
        "xaxis": {"range": [min(0.0, *values, 0.0) * 1.1, max(1.0, *values, 1.0) * 1.02], "tickformat": ".0%"}
        | {"showgrid": True, "zeroline": True, "zerolinecolor": FAINT, "tickfont": {"size": 11}, "nticks": 6}
        | {"title": {"text": escape(say("share of the variance within rows")), "font": {"size": 12}}},
        "yaxis": label_axis(range(len(values)), map(escape, shares), size=12)
        | {"range": [len(values) - 0.5, -0.5], "automargin": True},
    }
    return figure_of([bars], layout)
