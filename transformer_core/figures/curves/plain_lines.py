"""Lines over one axis: a learning rate, or a loss, by step."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Shaped

from transformer_core.figures.hues import FAINT, STRONG, WARM
from transformer_core.figures.labels import escape, heading
from transformer_core.figures.theme import LIGHT, Theme, template

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
    theme: Theme = LIGHT,
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
        theme: light or dark.
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
    thin = {"color": FAINT, "width": 1, "dash": "dash"}
    words = {"showarrow": False, "font": {"size": 11}}
    across = {"type": "line", "line": thin}
    shapes = [across | {"x0": at, "x1": at, "y0": 0, "y1": 1, "yref": "paper"} for at in (marks or {}).values()]
    shapes += [across | {"y0": at, "y1": at, "x0": 0, "x1": 1, "xref": "paper"} for at in (levels or {}).values()]
    annotations = [
        words | {"x": at, "y": 1, "yref": "paper", "yanchor": "bottom", "text": escape(name)}
        for name, at in (marks or {}).items()
    ]
    annotations += [
        words | {"x": 1, "xref": "paper", "xanchor": "right", "y": at, "yanchor": "bottom", "text": escape(name)}
        for name, at in (levels or {}).items()
    ]
    layout = {
        "template": template(theme),
        "title": heading(title),
        "height": height,
        "margin": {"l": 8, "r": 16, "t": 58, "b": 8},
        "showlegend": len(lines) > 1,
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "bgcolor": "rgba(0,0,0,0)"},
        "shapes": shapes,
        "annotations": annotations,
        "xaxis": {
            "title": {"text": escape(x_name), "standoff": 6},
            "ticklabelstandoff": 3,
            "automargin": True,
            "nticks": 6,
        }
        | ({"range": list(x_limits)} if x_limits else {}),
        "yaxis": {
            "title": {"text": escape(y_name), "standoff": 6},
            "ticklabelstandoff": 3,
            "automargin": True,
            "nticks": 5,
        }
        | {"showgrid": True, "exponentformat": "power"}
        | ({"range": list(y_limits)} if y_limits else {"rangemode": "tozero"}),
    }
    return go.Figure(data=traces, layout=layout)
