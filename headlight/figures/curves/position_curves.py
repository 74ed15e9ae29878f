"""Curves over positions, distances or dimensions: waves, wavelengths, decays, residuals, biases."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Num

from headlight.figures.hues import FAINT, STRONG, translucent
from headlight.figures.labels import escape
from headlight.figures.layout import LEGEND_ABOVE, axis_title, figure_layout, figure_of, line_at, note

_TITLE, _LEGEND_LINE, _AXIS = 26, 20, 44  # px
_LETTER = 6.6  # px: the width of a letter of the legend, on the average
_FEW = 40  # points up to which each is marked


@dataclass(frozen=True, kw_only=True, eq=False)
class Line:
    """One curve."""

    name: str  # in the legend; "": it is not there
    values: Num[np.ndarray, " point"]
    hue: str = STRONG
    words: str = ""  # hover text, with {x} and {y} for the numbers; "": name, x and y
    low: Float[np.ndarray, " point"] | None = None  # with `high`: a band around the curve
    high: Float[np.ndarray, " point"] | None = None
    is_dashed: bool = False
    is_stepped: bool = False  # from one value to the next without a slope
    is_strong: bool = True


def position_curves(
    x: Num[np.ndarray, " point"],
    lines: Sequence[Line],
    *,
    title: str,
    x_title: str,
    y_title: str,
    y_range: tuple[float, float] | None = None,
    is_log: bool = False,
    levels: Mapping[str, float] | None = None,
    mark: int | None = None,
    y_format: str = ".3f",
    width: int = 560,
    height: int = 300,
) -> go.Figure:
    """Draw curves over one axis of whole numbers.

    Args:
        x: positions, distances or dimensions, rising.
        lines: each with a value for every x; NaN where there is none.
        title: names the quantity.
        x_title: what x is.
        y_title: what the values are, with their unit.
        y_range: the ends of the upright axis; None: what the values need.
        is_log: an upright axis of powers of ten; values must be above 0 there.
        levels: values to mark by dashed lines across, by their labels.
        mark: an x to mark by a line upright.
        y_format: of a value in words, as d3 writes formats.
        width: px that the figure is laid out for; it takes the width that it is given.
        height: px.

    Raises:
        ValueError: a line of another length.
    """
    if other := next((line for line in lines if len(line.values) != len(x)), None):
        raise ValueError(f"There are {len(x)} places, but {len(other.values)} values of {other.name!r}; give one each.")
    named = [line.name for line in lines if line.name]
    entry = max((_LETTER * len(name) + 46 for name in named), default=0.0)  # they stand in columns, equally wide
    n_rows = math.ceil(len(named) / max(1, int((width - 76) // entry))) if named else 0
    traces = [trace for line in lines for trace in _traces(x, line, y_format)]
    right = 14 + max((int(_LETTER * len(label)) for label in levels or ()), default=0)
    margin = (62, right, _TITLE + n_rows * _LEGEND_LINE + 10, _AXIS)
    layout = figure_layout(title, height=height, margin=margin) | {
        "hovermode": "closest",
        "showlegend": bool(named),
        "legend": LEGEND_ABOVE | {"bgcolor": "rgba(0,0,0,0)", "itemwidth": 30, "tracegroupgap": 0},
        "xaxis": {"title": axis_title(escape(x_title), size=13), "nticks": 9, "range": _padded(x)}
        | {"ticks": "outside", "ticklen": 4, "tickformat": "d", "tickfont": {"size": 12}},
        "yaxis": {"title": axis_title(escape(y_title), size=13, standoff=8), "showgrid": True}
        | {"nticks": 6, "tickfont": {"size": 12}, "exponentformat": "power", "zeroline": False},
    }
    if is_log:
        layout["yaxis"] |= {"type": "log", "dtick": 1} | _powers(lines, levels or {})
    elif y_range is not None:
        layout["yaxis"] |= {"range": list(y_range)}
    dashed: dict[str, Any] = {"color": FAINT, "dash": "dash"}
    at = {label: float(np.log10(level)) if is_log else level for label, level in (levels or {}).items()}
    beside: dict[str, Any] = {"x": 1, "xshift": 4, "yref": None, "anchor": ("left", None)}
    layout["annotations"] = [note(escape(label), y=y, **beside) for label, y in at.items()]
    layout["shapes"] = [line_at(y=level, **dashed) for level in (levels or {}).values()]
    layout["shapes"] += [] if mark is None else [line_at(x=mark, **dashed)]
    return figure_of(traces, layout)


def _traces(x: Num[np.ndarray, " point"], line: Line, y_format: str) -> list[go.Scatter]:
    """Return a curve, behind it its band."""
    traces = []
    if line.low is not None and line.high is not None:
        band = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
        traces.append(go.Scatter(x=x, y=line.low, name="", **band))
        filled = {"fill": "tonexty", "fillcolor": translucent(line.hue, 0.18)}
        traces.append(go.Scatter(x=x, y=line.high, name="", **band, **filled))
    y = f"%{{y:{y_format}}}"
    words = escape(line.words).format(x="%{x}", y=y) if line.words else f"{escape(line.name)}, %{{x}}: {y}"
    traces.append(
        go.Scatter(
            x=x,
            y=line.values,
            name=escape(line.name),
            mode="lines+markers" if len(x) <= _FEW and not line.is_dashed else "lines",
            line={"color": line.hue, "width": 2.5 if line.is_strong else 1.25}
            | ({"dash": "dash"} if line.is_dashed else {})
            | ({"shape": "hvh"} if line.is_stepped else {}),
            marker={"color": line.hue, "size": 5},
            hovertemplate=f"{words}<extra></extra>",
            showlegend=bool(line.name),
        )
    )
    return traces


def _padded(x: Num[np.ndarray, " point"]) -> list[float]:
    low, high = float(x.min()), float(x.max())
    margin = 0.02 * (high - low) or 0.5
    return [low - margin, high + margin]


def _powers(lines: Sequence[Line], levels: Mapping[str, float]) -> dict[str, Any]:
    """Return the range of an axis of powers of ten that has room for all, and its ticks: no more than fit."""
    values = np.concatenate([*(np.asarray(line.values, dtype=np.float64) for line in lines), [*levels.values()]])
    seen = np.log10(values[np.isfinite(values) & (values > 0)])
    low, high = (float(seen.min()), float(seen.max())) if seen.size else (0.0, 1.0)
    margin = 0.06 * max(high - low, 1.0)
    return {"range": [low - margin, high + margin], "dtick": max(1, round((high - low) / 5))}
