"""One to three bars for each of a few labels."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from headlight.figures.hues import FAINT, STRONG, WARM
from headlight.figures.labels import LINE, escape, isolate, shorten, text_width
from headlight.figures.layout import bar_trace, figure_layout, figure_of, label_axis
from headlight.figures.quantities import rounded

_HUES = (FAINT, STRONG, WARM)
_HEAD_ROOM = 0.12  # of the axis, for the numbers above the bars
_NUMBER, _UPRIGHT = 46, 12  # px that a number above a bar takes: written across, and upwards
_TICKS, _TITLE = 46, 22  # px: numbers of the axis, and its title; if plotly measured them, it would draw twice


def label_bars(
    bars: Mapping[str, Float[np.ndarray, " label"]],
    labels: Sequence[str],
    *,
    title: str,
    label_name: str,
    value_name: str,
    limits: tuple[float, float] | None = None,
    decimals: int = 2,
    width: int = 560,
    height: int = 320,
) -> go.Figure:
    """Draw bars over labels.

    Args:
        bars: heights of the bars, by names; one to three of them. -inf is no bar.
        labels: of the bars, repeated ones allowed.
        title: names the quantity.
        label_name: title of the axis of labels; "" for none.
        value_name: title of the axis of heights, with the unit.
        limits: ends of the axis; None: from the numbers and 0.
        decimals: of the numbers.
        width: px that the figure is laid out for; it takes the width of its container.
        height: px.

    Returns:
        A figure over integer positions.

    Raises:
        ValueError: no bars, more than three kinds, or labels that do not fit.
    """
    if not 1 <= len(bars) <= len(_HUES) or any(len(values) != len(labels) for values in bars.values()):
        raise ValueError(f"There must be one to three kinds of bars, of {len(labels)} labels each.")
    seen = np.concatenate([values[np.isfinite(values)] for values in bars.values()])
    low, high = limits or (float(seen.min(initial=0)), float(seen.max(initial=0)))
    if low == high:  # nothing but zeros
        high = 1.0
    room = (high - low) * _HEAD_ROOM
    hues = _HUES if len(bars) > 1 else (STRONG,)
    pitch = (width - 60) / max(len(labels) * len(bars), 1)
    with_numbers = pitch >= _NUMBER or (limits is not None and pitch >= _UPRIGHT)
    traces: list[Any] = []
    for (name, values), hue in zip(bars.items(), hues, strict=False):
        hover_texts = [
            f"{escape(isolate(label))}{', ' + escape(name) if name else ''}: " + rounded(value, max(decimals, 3))
            for label, value in zip(labels, values.tolist(), strict=True)
        ]
        texts = [rounded(value, decimals) if np.isfinite(value) else "" for value in values.tolist()]
        look: dict[str, Any] = {"color": hue, "texts": texts if with_numbers else None}
        look |= {"textangle": 0 if pitch >= _NUMBER else -90, "textfont": {"size": 11 if pitch >= _NUMBER else 9}}
        look |= {"constraintext": "none"}  # upright ones would be shrunk to the width of their bars
        drawn = np.where(np.isfinite(values), values, np.nan)
        traces.append(bar_trace(escape(name), drawn, list(range(len(labels))), hover_texts, **look))
    longest = max((text_width(shorten(label)) for label in labels), default=0.0)
    is_slanted = longest > (width - 60) / max(len(labels), 1)
    ticks = [escape(shorten(label)) for label in labels]
    left, top = _TICKS + (_TITLE if value_name else 0), 62 if len(bars) > 1 else 40
    bottom = LINE + (longest / 2**0.5 if is_slanted else 4) + (_TITLE if label_name else 0)
    layout = figure_layout(title, height=height, margin=(left, 8, top, bottom)) | {
        "barmode": "group",
        "bargap": 0.28,
        "showlegend": len(bars) > 1,
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "bgcolor": "rgba(0,0,0,0)"},
        "xaxis": label_axis(range(len(labels)), ticks)
        | ({"title": {"text": escape(label_name), "standoff": 6}} if label_name else {})
        | {"tickangle": -45 if is_slanted else 0, "range": [-0.5, len(labels) - 0.5]},
        "yaxis": {"title": {"text": escape(value_name), "standoff": 6}, "showgrid": True, "nticks": 5}
        | {"range": [low - (room if low < 0 else 0), high + room]},
    }
    return figure_of(traces, layout)
