"""Lines over an axis of whole numbers, and calibration over confidence."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int, Num

from headlight.figures import elements
from headlight.figures.labels import escape
from headlight.figures.theme import FAINT, STRONG, translucent
from headlight.language import say, say_number

_TITLE, _LEGEND_LINE, _AXIS = 26, 20, 44  # px
_LETTER = 6.6  # px: mean width of a letter of the legend
_FEW = 40  # maximum points with a mark each


@dataclass(frozen=True, kw_only=True, eq=False)
class Line:
    """One curve."""

    name: str  # in the legend; "" for none
    values: Num[np.ndarray, " point"]
    hue: str = STRONG
    words: str = ""  # hover text with {x} and {y} for the numbers; "": name, x and y
    low: Float[np.ndarray, " point"] | None = None  # with `high`: a band around the curve
    high: Float[np.ndarray, " point"] | None = None
    is_dashed: bool = False
    is_stepped: bool = False  # constant between two points
    is_strong: bool = True


def line_figure(
    x: Num[np.ndarray, " point"],
    lines: Sequence[Line],
    *,
    title: str,
    x_title: str,
    y_title: str,
    x_range: tuple[float, float] | None = None,
    y_range: tuple[float, float] | None = None,
    is_log: bool = False,
    levels: Mapping[str, float] | None = None,
    marks: Mapping[str, float] | None = None,
    y_format: str = ".3f",
    width: int = 560,
    height: int = 300,
) -> go.Figure:
    """Draw lines over one axis of whole numbers.

    Args:
        x: positions, distances, dimensions or steps, ascending.
        lines: each with a value for every x; NaN where undefined.
        title: names the quantity.
        x_title: title of the horizontal axis.
        y_title: title of the vertical axis, with the unit.
        x_range: ends of the horizontal axis; None: those of x.
        y_range: ends of the vertical axis; None: what the values need.
        is_log: a vertical axis of powers of ten; values must be positive.
        levels: values to mark by dashed horizontal lines, by their labels.
        marks: likewise for x by vertical lines; "" for none.
        y_format: of a value in hover texts, in d3's notation.
        width: px that the figure is laid out for; it takes the width of its container.
        height: px.

    Raises:
        ValueError: a line differs in length from x.
    """
    if other := next((line for line in lines if len(line.values) != len(x)), None):
        raise ValueError(f"There are {len(x)} places, but {len(other.values)} values of {other.name!r}; give one each.")
    levels, marks = levels or {}, marks or {}
    named = [line.name for line in lines if line.name]
    entry = max((_LETTER * len(name) + 46 for name in named), default=0.0)  # the legend has columns of equal width
    n_rows = math.ceil(len(named) / max(1, int((width - 76) // entry))) if named else 0
    traces = [trace for line in lines for trace in _traces(x, line, x_title, y_format)]
    right = 14 + max((int(_LETTER * len(label)) for label in levels), default=0)
    low, high = x_range or (float(x.min()), float(x.max()))
    around = 0.02 * (high - low) or 0.5
    margin = (62, right, _TITLE + n_rows * _LEGEND_LINE + 10, _AXIS)
    layout = elements.figure_layout(title, height=height, margin=margin) | {
        "hovermode": "closest",
        "showlegend": bool(named),
        "legend": elements.LEGEND_ABOVE | {"bgcolor": "rgba(0,0,0,0)", "itemwidth": 30, "tracegroupgap": 0},
        "xaxis": {
            "title": elements.axis_title(escape(x_title), size=13),
            "nticks": 9,
            "range": [low - around, high + around],
        }
        | {"ticks": "outside", "ticklen": 4, "tickformat": "d", "tickfont": {"size": 12}},
        "yaxis": {"title": elements.axis_title(escape(y_title), size=13, standoff=8), "showgrid": True}
        | {"nticks": 6, "tickfont": {"size": 12}, "exponentformat": "power", "zeroline": False},
    }
    if is_log:
        layout["yaxis"] |= {"type": "log", "dtick": 1} | _powers(lines, levels)
    elif y_range is not None:
        layout["yaxis"] |= {"range": list(y_range)}
    dashed: dict[str, Any] = {"color": FAINT, "dash": "dash"}
    heights = {label: float(np.log10(level)) if is_log else level for label, level in levels.items()}
    beside: dict[str, Any] = {"x": 1, "xshift": 4, "yref": None, "anchor": ("left", None)}
    above: dict[str, Any] = {"y": 1, "xshift": 4, "xref": None, "anchor": ("left", "top")}
    layout["annotations"] = [elements.note(escape(label), y=y, **beside) for label, y in heights.items()]
    layout["annotations"] += [elements.note(escape(label), x=at, **above) for label, at in marks.items() if label]
    layout["shapes"] = [elements.line_at(y=level, **dashed) for level in levels.values()]
    layout["shapes"] += [elements.line_at(x=at, **dashed) for at in marks.values()]
    return elements.figure_of(traces, layout)


def _traces(x: Num[np.ndarray, " point"], line: Line, x_title: str, y_format: str) -> list[go.Scatter]:
    traces = []
    if line.low is not None and line.high is not None:
        band = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
        traces.append(go.Scatter(x=x, y=line.low, name="", **band))
        filled = {"fill": "tonexty", "fillcolor": translucent(line.hue, 0.18)}
        traces.append(go.Scatter(x=x, y=line.high, name="", **band, **filled))
    y = f"%{{y:{y_format}}}"
    name = f"{line.name}," if line.name else x_title
    words = escape(line.words).format(x="%{x}", y=y) if line.words else f"{escape(name)} %{{x}}: {y}"
    look: dict[str, Any] = {"color": line.hue, "width": 2.5 if line.is_strong else 1.25}
    look |= ({"dash": "dash"} if line.is_dashed else {}) | ({"shape": "hvh"} if line.is_stepped else {})
    shown: dict[str, Any] = {"line": look, "hovertemplate": f"{words}<extra></extra>", "showlegend": bool(line.name)}
    is_marked = len(x) <= _FEW and not line.is_dashed
    return [
        *traces,
        elements.line_trace(escape(line.name), x, line.values, line.hue, size=5, is_marked=is_marked, **shown),
    ]


def _powers(lines: Sequence[Line], levels: Mapping[str, float]) -> dict[str, Any]:
    """Return the range of an axis of powers of ten with room for all values, and its ticks."""
    values = np.concatenate([*(np.asarray(line.values, dtype=np.float64) for line in lines), [*levels.values()]])
    seen = np.log10(values[np.isfinite(values) & (values > 0)])
    low, high = (float(seen.min()), float(seen.max())) if seen.size else (0.0, 1.0)
    margin = 0.06 * max(high - low, 1.0)
    return {"range": [low - margin, high + margin], "dtick": max(1, round((high - low) / 5))}


def calibration(
    confidence: Float[np.ndarray, " bin"],
    share_right: Float[np.ndarray, " bin"],
    counts: Int[np.ndarray, " bin"],
    *,
    height: int = 300,
) -> go.Figure:
    """Draw the share of correct predictions over the stated confidence; perfect calibration is the diagonal.

    Args:
        confidence: mean stated confidence of each bin, in [0, 1], ascending.
        share_right: share of correct predictions of each bin, in [0, 1].
        counts: predictions in each bin.
        height: px.

    Source: Murphy and Winkler 1977, the reliability diagram.
    """
    hover_texts = [
        say("stated confidence {confidence:.0%}, correct {share:.0%}; {count}", confidence=p, share=share, count=count)
        for p, share, count in zip(
            confidence.tolist(),
            share_right.tolist(),
            (say_number(n, "{n} prediction", "{n} predictions") for n in counts.tolist()),
            strict=True,
        )
    ]
    diagonal = go.Scatter(x=[0, 1], y=[0, 1], mode="lines", line={"color": FAINT, "dash": "dash"}, hoverinfo="skip")
    bins = elements.line_trace(
        "", confidence, share_right, STRONG, width=2, size=10, is_marked=True, **elements.hover(hover_texts)
    )
    numbers = [
        elements.note(f"n = {n}", x=x, y=y, xref="x", yref="y", anchor=("center", "top" if y > 0.5 else "bottom"))
        | {"yshift": -9 if y > 0.5 else 9}
        for x, y, n in zip(confidence.tolist(), share_right.tolist(), counts.tolist(), strict=True)
    ]
    layout = elements.figure_layout(say("Calibration of your predictions"), height=height, margin=(8, 16, 40, 8)) | {
        "showlegend": False,
        "annotations": [
            *numbers,
            elements.note(say("perfect calibration"), x=0, y=0, xref="x", yref="y", anchor=("left", "bottom"), size=11)
            | {"xshift": 90},
        ],
        "xaxis": {"title": elements.axis_title(say("stated confidence"), size=13), "range": [-0.03, 1.03]}
        | {"tickformat": ".0%", "dtick": 0.1, "automargin": True},
        "yaxis": {"title": elements.axis_title(say("fraction correct"), size=13), "range": [-0.05, 1.08]}
        | {"tickformat": ".0%", "dtick": 0.25, "automargin": True, "showgrid": True},
    }
    return elements.figure_of([diagonal, bins], layout)
