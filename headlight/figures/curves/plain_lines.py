"""Lines over one axis: a learning rate, or a loss, by step."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Shaped

from headlight.figures.hues import FAINT, STRONG, WARM
from headlight.figures.labels import escape
from headlight.figures.layout import figure_layout, figure_of, line_at, note

_HUES = (STRONG, WARM, FAINT)


def plain_lines(
    lines: Mapping[str, tuple[Shaped[np.ndarray, " point"], Float[np.ndarray, " point"]]],
    *,
    title: str,
    x_name: str,
    y_name: str,
    y_format: str = ".3g",
    x_limits: tuple[float, float] | None = None,
    y_limits: tuple[float, float] | None = None,
    marks: Mapping[str, float] | None = None,
    levels: Mapping[str, float] | None = None,
    height: int = 320,
) -> go.Figure:
    """Draw one to three lines.

    Args:
        lines: points along x and y, by the lines' names; "" for a single one.
        title: names the quantity.
        x_name: what x is, with its unit.
        y_name: what y is, with its unit.
        y_format: of a number in the hover text, as d3 writes formats.
        x_limits: the ends of the axis; None: the points' own.
        y_limits: likewise.
        marks: places along x, each a thin upright line with its name.
        levels: heights, each a thin level line with its name.
        height: px.

    Raises:
        ValueError: no line, or more than three.
    """
    if not 1 <= len(lines) <= len(_HUES):
        raise ValueError("There must be one to three lines.")
    traces: list[Any] = [
        go.Scatter(
            name=escape(name),
            x=x,
            y=y,
            mode="lines",
            line={"color": hue, "width": 2.5},
            hovertemplate=f"{escape(x_name)} %{{x:,}}: {escape(name + ' ' if name else '')}%{{y:{y_format}}}"
            "<extra></extra>",
        )
        for (name, (x, y)), hue in zip(lines.items(), _HUES, strict=False)
    ]
    look: dict[str, Any] = {"color": FAINT, "dash": "dash"}
    upright, level = (marks or {}).items(), (levels or {}).items()
    above: dict[str, Any] = {"y": 1, "xref": None, "anchor": (None, "bottom"), "size": 11}
    beside: dict[str, Any] = {"x": 1, "yref": None, "anchor": ("right", "bottom"), "size": 11}
    annotations = [note(escape(name), x=at, **above) for name, at in upright]
    annotations += [note(escape(name), y=at, **beside) for name, at in level]
    axis = {"ticklabelstandoff": 3, "automargin": True}
    layout = figure_layout(title, height=height, margin=(8, 16, 58, 8)) | {
        "showlegend": len(lines) > 1,
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "bgcolor": "rgba(0,0,0,0)"},
        "shapes": [line_at(x=at, **look) for _, at in upright] + [line_at(y=at, **look) for _, at in level],
        "annotations": annotations,
        "xaxis": axis
        | {"title": {"text": escape(x_name), "standoff": 6}, "nticks": 6}
        | ({"range": list(x_limits)} if x_limits else {}),
        "yaxis": axis
        | {"title": {"text": escape(y_name), "standoff": 6}, "nticks": 5, "showgrid": True, "exponentformat": "power"}
        | ({"range": list(y_limits)} if y_limits else {"rangemode": "tozero"}),
    }
    return figure_of(traces, layout)
