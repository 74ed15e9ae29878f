"""Common elements of figures: layout, axes with labels, hover texts, bars, lines and notes."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from headlight.figures.labels import LINE, escape, heading
from headlight.figures.theme import DIVIDER, LIGHT, template
from transformer_core.text.labels import border_in

HOVER = "%{customdata}<extra></extra>"

LEGEND_ABOVE = {"orientation": "h", "x": 0, "xanchor": "left", "y": 1, "yanchor": "bottom", "font": {"size": 12}}
LEGEND_BELOW = {"orientation": "h", "x": 0, "xanchor": "left", "y": 0, "yanchor": "top", "yref": "paper"} | {
    "font": {"size": 12},
    "itemclick": False,
    "itemdoubleclick": False,
}


def figure_layout(
    title: str,
    *,
    height: float,
    margin: tuple[float, float, float, float],
    subtitle: str = "",
    **rest: Any,
) -> dict[str, Any]:
    """Return the layout of a figure.

    Args:
        title: plain text; names the quantity.
        height: px.
        margin: px on the left, on the right, at the top and at the bottom.
        subtitle: plain text, below the title.
        rest: other parts of the layout.
    """
    sides = dict(zip("lrtb", margin, strict=True))
    return {"title": heading(title, subtitle), "height": height, "margin": sides} | rest


def figure_of(traces: Iterable[Any], layout: dict[str, Any]) -> go.Figure:
    """Return an unvalidated figure in the light theme.

    Validation would copy every part, including the template, and take two thirds of the time; the tests validate.
    """
    return go.Figure(data=[*traces], layout={"template": template(LIGHT)} | layout, _validate=False)


def axis_title(text: str, *, size: int = 12, standoff: int = 4, hue: str | None = None) -> dict[str, Any]:
    """Return the title of an axis; `text` may have markup, and `standoff` is px from the labels."""
    return {"text": text, "standoff": standoff, "font": {"size": size} | ({"color": hue} if hue else {})}


def bold_title(name: str, hue: str | None = None) -> dict[str, Any]:
    """Return the bold title of an axis; `name` is plain text."""
    return axis_title(f"<b>{escape(name)}</b>" if name else "", size=13, standoff=6, hue=hue)


def cell_axis(n: int, *, is_down: bool = False, **rest: Any) -> dict[str, Any]:
    """Return an axis of n cells, left to right with labels at the top, or top to bottom; `rest`: its other parts."""
    return rest | ({"range": [n - 0.5, -0.5]} if is_down else {"side": "top", "range": [-0.5, n - 0.5]})


def label_axis(
    places: Iterable[float], labels: Iterable[str], *, size: int | None = None, pitch: float | None = None, **rest: Any
) -> dict[str, Any]:
    """Return an axis with a label at each place and no ticks.

    Args:
        places: positions on the axis.
        labels: may have markup.
        size: px; None: that of the figure.
        pitch: px from one place to the next, where there may be no room for every label; None: all are shown.
        rest: other parts of the axis.
    """
    step = 1 if pitch is None else math.ceil(LINE / max(pitch, 0.01))
    font = {"tickfont": {"size": size}} if size else {}
    shown = {"tickvals": [*places][::step], "ticktext": [*labels][::step]}
    return {"tickmode": "array", "ticks": ""} | shown | font | rest


def row_axis(labels: Sequence[str], **rest: Any) -> dict[str, Any]:
    """Return the axis of labelled rows, from top to bottom; `rest`: as for `label_axis`."""
    return label_axis(range(len(labels)), labels, automargin=True, range=[len(labels) - 0.5, -0.5], **rest)


def axis_names(number: int) -> dict[str, Any]:
    """Return the names of the axes of a panel, counted from 0, as its traces take them."""
    suffix = str(number + 1) if number else ""
    return {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}


def add_panel(
    layout: dict[str, Any],
    number: int,
    x: Mapping[str, Any],
    y: Mapping[str, Any],
    *,
    across: tuple[float, float],
    down: tuple[float, float],
) -> dict[str, Any]:
    """Add the axes of a panel to a layout; return their names as traces take them.

    Args:
        layout: is changed.
        number: of the panel, from 0.
        x: the horizontal axis.
        y: the vertical axis.
        across: where the panel begins and ends, as fractions of the plot; rounding may overshoot.
        down: likewise, from the bottom.
    """
    names = axis_names(number)
    domains = {"x": across, "y": down}
    for axis, other, parts in (("x", "y", x), ("y", "x", y)):
        domain = [min(max(end, 0.0), 1.0) for end in domains[axis]]
        layout[f"{axis}axis{names[f'{axis}axis'][1:]}"] = {**parts, "domain": domain, "anchor": names[f"{other}axis"]}
    return names


def hover(texts: Sequence[Any] | Any) -> dict[str, Any]:
    """Return the part of a trace that shows a hover text for each point."""
    return {"customdata": texts, "hovertemplate": HOVER}


def bar_trace(
    name: str,
    values: Any,
    places: Any,
    hover_texts: Sequence[str],
    *,
    color: Any,
    texts: Sequence[str] | None = None,
    is_horizontal: bool = False,
    **rest: Any,
) -> go.Bar:
    """Return bars without outlines.

    Args:
        name: of the trace.
        values: lengths of the bars.
        places: positions on the other axis.
        hover_texts: one per bar.
        color: of all bars, or of each; or a dict with other parts of their marker.
        texts: at the ends of the bars; None: none.
        is_horizontal: whether bars point to the right.
        rest: other parts of the trace.
    """
    ends = {"x": values, "y": places, "orientation": "h"} if is_horizontal else {"x": places, "y": values}
    marker = {"line": {"width": 0}} | (color if isinstance(color, dict) else {"color": color})
    beside = {} if texts is None else {"text": texts, "textposition": "outside", "cliponaxis": False}
    return go.Bar(**{"name": name, "marker": marker} | ends | hover(hover_texts) | beside | rest)


def line_trace(
    name: str, x: Any, y: Any, hue: str, *, width: float = 2.5, size: float = 6, is_marked: bool = False, **rest: Any
) -> go.Scatter:
    """Return a line, with a mark of `size` px at each point where `is_marked`; `rest`: other parts of the trace."""
    look = {"mode": "lines+markers" if is_marked else "lines", "line": {"color": hue, "width": width}}
    return go.Scatter(**{"name": name, "x": x, "y": y, "marker": {"color": hue, "size": size}} | look | rest)


def line_at(
    *, x: float | None = None, y: float | None = None, color: str, width: float = 1, dash: str | None = None
) -> dict[str, Any]:
    """Return a line through the whole plot, vertical at `x` or horizontal at `y`."""
    line = {"type": "line", "line": {"color": color, "width": width} | ({"dash": dash} if dash else {})}
    if x is not None:
        return line | {"x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "paper"}
    return line | {"x0": 0, "x1": 1, "xref": "paper", "y0": y, "y1": y}


def border_lines(
    rows: Sequence[str], columns: Sequence[str], *, xaxis: str = "x", yaxis: str = "y"
) -> list[dict[str, Any]]:
    """Return the lines that separate two texts as shapes, each before the first label of the second text.

    Args:
        rows: labels from top to bottom.
        columns: labels from left to right.
        xaxis: name of the axis, such as "x2".
        yaxis: likewise.
    """
    down, across = border_in(rows), border_in(columns)
    look: dict[str, Any] = {"type": "line", "line": {"color": DIVIDER, "width": 1.5}}
    level = look | {"xref": f"{xaxis} domain", "x0": 0, "x1": 1, "yref": yaxis}
    upright = look | {"yref": f"{yaxis} domain", "y0": 0, "y1": 1, "xref": xaxis}
    return [
        *([level | {"y0": down - 0.5, "y1": down - 0.5}] if down else []),
        *([upright | {"x0": across - 0.5, "x1": across - 0.5}] if across else []),
    ]


def segment(x: tuple[float, float], y: tuple[float, float], **look: Any) -> dict[str, Any]:
    """Return a line from one point to another; `look`: color, width and dash."""
    return {"type": "line", "line": look, "x0": x[0], "x1": x[1], "y0": y[0], "y1": y[1]}


def legend_entry(name: str, **look: Any) -> go.Scatter:
    """Return a legend entry without data points; `look`: other parts of the trace."""
    return go.Scatter(name=name, x=[None], y=[None], showlegend=True, **look)


def note(
    text: str, *, x: float, y: float, anchor: tuple[str | None, str | None], size: int | None = 12, **rest: Any
) -> dict[str, Any]:
    """Return a text on a figure.

    Args:
        text: may have markup.
        x: position as a fraction of the plot, or on the axis `xref` in `rest`.
        y: likewise.
        anchor: the point of the text at this position, horizontally and vertically; None: chosen by plotly.
        size: px; None: that of the figure.
        rest: other parts of the annotation.
    """
    where = {"x": x, "y": y, "xanchor": anchor[0], "yanchor": anchor[1], "xref": "paper", "yref": "paper"}
    placed = {name: value for name, value in (where | rest).items() if value is not None}
    return {"text": text, "showarrow": False} | ({"font": {"size": size}} if size else {}) | placed


def frame_around(
    across: tuple[float, float],
    down: tuple[float, float],
    *,
    color: str,
    width: float,
    axes: Mapping[str, str] | None = None,
    **rest: Any,
) -> dict[str, Any]:
    """Return a rectangle between two x values and two y values.

    Args:
        across: left and right.
        down: the two y values.
        color: of the line.
        width: px of the line.
        axes: `xaxis` and `yaxis`, where they are not the figure's first.
        rest: other parts of the shape.
    """
    ends = {"x0": across[0], "x1": across[1], "y0": down[0], "y1": down[1]}
    of = {"xref": axes["xaxis"], "yref": axes["yaxis"]} if axes else {}
    return {"type": "rect", "line": {"color": color, "width": width}} | ends | of | rest


def cell_frame(row: int, column: int, *, color: str, width: float = 2.5, **rest: Any) -> dict[str, Any]:
    """Return a frame around one cell; `rest`: as for `frame_around`."""
    return frame_around((column - 0.5, column + 0.5), (row - 0.5, row + 0.5), color=color, width=width, **rest)
