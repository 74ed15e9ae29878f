"""What a model costs by the length of its text: curves over lengths, and who has which share."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Real

from headlight.figures.hues import FAINT, STRONG, translucent
from headlight.figures.labels import escape
from headlight.figures.layout import (
    LEGEND_ABOVE,
    axis_title,
    figure_layout,
    figure_of,
    hover,
    label_axis,
    line_at,
    note,
)
from transformer_core.language import grouped, percent, say

_LEGEND = LEGEND_ABOVE | {"bgcolor": "rgba(0,0,0,0)", "itemwidth": 30, "traceorder": "normal"}


def cost_curves(
    lengths: Sequence[int],
    curves: Mapping[str, Real[np.ndarray, " length"]],
    *,
    hues: Sequence[str],
    title: str,
    unit: str,
    marks: Mapping[str, int] | None = None,
    dashed: Sequence[str] = (),
    in_bytes: bool = False,
    height: int = 300,
) -> go.Figure:
    """Draw costs over the length of a text, both by factors of ten.

    Args:
        lengths: in tokens, ascending.
        curves: the costs at each length, by name; where one is 0 nothing is drawn.
        hues: one a curve.
        title: names the quantity.
        unit: of the costs, for the axis.
        marks: lengths to mark with a line, by what they are.
        dashed: names of curves that are drawn dashed.
        in_bytes: whether the costs are bytes, and told as MiB.
        height: px.
    """
    known = {name: values.astype(np.float64) for name, values in curves.items()}
    positive = np.concatenate([values[values > 0] for values in known.values()] or [np.ones(1)])
    low, high = (float(positive.min()), float(positive.max())) if positive.size else (1.0, 10.0)
    traces = [
        go.Scatter(
            name=escape(name),
            x=[*lengths],
            y=np.where(values > 0, values, np.nan),
            mode="lines" if len(lengths) > 1 else "markers",
            line={"color": hue, "width": 2.2, "dash": "dash" if name in dashed else "solid"},
            marker={"color": hue},
            **hover([_hover_text(name, value, unit, in_bytes=in_bytes) for value in values.tolist()]),
        )
        for (name, values), hue in zip(known.items(), hues, strict=True)
    ]
    layout = _layout(title, lengths, marks or {}, height) | {
        "yaxis": {
            "type": "log",
            "range": [np.log10(low) - 0.15, np.log10(high) + 0.2],
            "title": axis_title(escape(unit)),
            "tickfont": {"size": 11},
            "showgrid": True,
            "automargin": True,
            "exponentformat": "power",
            "dtick": max(1, round((np.log10(high) - np.log10(low)) / 5)),
        }
        | (_byte_ticks(low, high) if in_bytes else {}),
    }
    return figure_of(traces, layout)


def share_areas(
    lengths: Sequence[int],
    parts: Mapping[str, Real[np.ndarray, " length"]],
    *,
    hues: Sequence[str],
    title: str,
    marks: Mapping[str, int] | None = None,
    height: int = 300,
) -> go.Figure:
    """Draw which share of the whole each part has, over the length of a text.

    Args:
        lengths: in tokens, ascending.
        parts: the costs at each length, by name; they add up to the whole.
        hues: one a part.
        title: names the quantity.
        marks: lengths to mark with a line, by what they are.
        height: px.
    """
    total = np.maximum(sum(values.astype(np.float64) for values in parts.values()), 1.0)
    traces = []
    for (name, values), hue in zip(parts.items(), hues, strict=True):
        shares = values / total
        traces.append(
            go.Scatter(
                name=escape(name),
                x=[*lengths],
                y=shares,
                stackgroup="shares",
                mode="lines",
                line={"color": hue, "width": 1.2},
                fillcolor=translucent(hue, 0.55),
                **hover([f"{escape(name)}: {percent(share, 1)}" for share in shares.tolist()]),
            )
        )
    layout = _layout(title, lengths, marks or {}, height) | {
        "yaxis": {"range": [0, 1], "tickformat": ".0%", "nticks": 5, "tickfont": {"size": 11}, "automargin": True},
    }
    return figure_of(traces, layout)


def _layout(title: str, lengths: Sequence[int], marks: Mapping[str, int], height: int) -> dict[str, Any]:
    """Return what both kinds of figures have."""
    shown = {name: at for name, at in marks.items() if lengths[0] <= at <= lengths[-1]}
    ordered = sorted(shown.items(), key=lambda mark: mark[1])
    middle = np.sqrt(max(lengths[-1], 2))
    notes = []
    for i, (name, at) in enumerate(ordered):
        side, shift = ("right", -4) if at > middle else ("left", 4)
        x, y = float(np.log10(at)), 0.03 + 0.1 * (i % 2)
        notes.append(note(escape(name), x=x, xref="x", xshift=shift, y=y, anchor=(side, "bottom")))
    return figure_layout(title, height=height, margin=(8, 12, 78, 44)) | {
        "hovermode": "x unified",
        "showlegend": True,
        "legend": _LEGEND,
        "shapes": [
            line_at(x=at, color=FAINT if i else STRONG, width=1.5, dash="dot") for i, (_, at) in enumerate(ordered)
        ],
        "annotations": notes,
        "xaxis": _length_axis([0.0, max(np.log10(max(lengths[-1], 2)), 0.31)]),
    }


def _length_axis(ends: Sequence[float]) -> dict[str, Any]:
    """Return the axis of the lengths, with round numbers."""
    digits = (1, 2, 5) if ends[-1] < 3 else (1,)
    ticks = [digit * 10**power for power in range(int(ends[-1]) + 1) for digit in digits]
    return label_axis(ticks, map(grouped, ticks), size=11, title=axis_title(say("sequence length (tokens)"))) | {
        "type": "log",
        "range": [*ends],
        "unifiedhovertitle": {"text": "<b>%{x:,d}</b>"},
    }


def _byte_ticks(low: float, high: float) -> dict[str, Any]:
    """Return the ticks of an axis of bytes: powers of 1,024 and some between."""
    names = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
    powers = [power for power in range(0, 10 * len(names)) if low / 2 <= 2.0**power <= 2 * high]
    step = max(1, -(-len(powers) // 6))
    chosen = [power for power in powers if power % max(step, 1) == 0]
    return {
        "tickmode": "array",
        "tickvals": [2.0**power for power in chosen],
        "ticktext": [f"{grouped(2 ** (power % 10))} {names[power // 10]}" for power in chosen],
    }


def _hover_text(name: str, value: float, unit: str, *, in_bytes: bool) -> str:
    """Return a cost in words."""
    amount = f"{grouped(value / 2**20, ',.2f')} MiB" if in_bytes else f"{grouped(value, ',.0f')} {unit}"
    return f"{escape(name)}: {escape(amount)}"
