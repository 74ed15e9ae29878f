"""Panels above one axis of training steps, each with a header and a legend."""

import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go

from headlight.analysis.training.curves import Curve
from headlight.figures.elements import LEGEND_ABOVE, figure_of, line_at, line_trace, note
from headlight.figures.labels import escape
from headlight.figures.theme import FAINT, STRONG
from headlight.language import say

_LEFT = 58  # px, for the numbers of the panels' axes
_LINE = 17  # px: the height of a line of text
_LETTER = 6.2  # px: mean width of a letter of a label
_ENTRY = (46, 5.6)  # px: width of a legend entry without its name, and of a letter of the name
_WRAP = 64  # letters of a sentence on one line of a hover text
STEP = "%{x:,d}"  # in a hover text
MARKED = "lines+markers"
FEW = 24  # maximum points with a mark each


@dataclass(frozen=True, kw_only=True)
class CurvePanel:
    """One panel: its title, height, vertical axis and lines."""

    title: str
    height: int  # px
    axis: dict[str, Any]
    traces: list[go.Scatter]
    levels: dict[str, float] = field(default_factory=dict)  # dashed lines, labelled at the right end
    ends: dict[str, float] = field(default_factory=dict)  # labels at the right end without a line
    note: str = ""  # text in the middle of the panel


def wrapped(sentence: str) -> str:
    """Return a sentence wrapped for a hover text."""
    return "<br>".join(textwrap.wrap(escape(sentence), _WRAP))


def panels_over_steps(
    panels: Sequence[CurvePanel],
    *,
    last: int,
    snapshot: int | None = None,
    hovermode: Literal["x unified", "closest"] = "x unified",
    width: int = 560,
) -> go.Figure:
    """Return panels above one axis of steps, each with a header.

    Args:
        panels: from top to bottom, at least one.
        last: last step of the axis, which begins at 0.
        snapshot: a step to mark with a line through all panels.
        hovermode: whether a hover text shows all panels at one step, or one point.
        width: px that the headers and labels are laid out for.
    """
    names = [f"y{i + 1 if i else ''}" for i in range(len(panels))]
    labels = (re.sub("<.*?>", "", words) for panel in panels for words in (*panel.levels, *panel.ends))
    right = 14 + min(_LETTER * max(map(len, labels), default=0), 170)
    room_across = width - _LEFT - right
    legends = [_legend_height(panel, room_across) for panel in panels]
    headers = [_LINE + 6 + legend for legend in legends]
    room = sum(panel.height for panel in panels) + sum(headers[1:])
    margin = {"l": _LEFT, "r": right, "t": 6 + headers[0] + (0 if snapshot is None else _LINE), "b": 46}
    layout: dict[str, Any] = {
        "height": room + margin["t"] + margin["b"],
        "margin": margin,
        "hovermode": hovermode,
        "hoversubplots": "axis",
        "uirevision": "steps",  # a zoom stays while new steps arrive
        "xaxis": _step_axis(last) | {"anchor": names[-1]},
        "annotations": [],
        "shapes": [],
    }
    below = room + headers[0]
    for i, (panel, axis) in enumerate(zip(panels, names, strict=True)):
        top = (below - headers[i]) / room
        below -= headers[i] + panel.height
        layout[f"yaxis{axis[1:]}"] = _PLAIN | panel.axis | {"domain": [max(0.0, below / room), top]}
        layout[f"legend{i + 2}"] = _LEGEND | {"y": top + legends[i] / room}  # plotly's defaults differ for the first
        header = note(panel.title, x=0, y=top, yshift=legends[i], anchor=("left", "bottom"), align="left", size=13)
        layout["annotations"].append(header)
        layout["annotations"] += _level_labels(panel, axis)
        layout["shapes"] += [
            line_at(y=level, color=FAINT, dash="dash") | {"yref": axis} for level in panel.levels.values()
        ]
        if panel.note:
            layout["annotations"].append(
                note(panel.note, x=0.5, y=0.5, yref=f"{axis} domain", anchor=(None, None), size=None)
            )
        for trace in panel.traces:
            trace.update(yaxis=axis, legend=f"legend{i + 2}")
    if snapshot is not None:
        line = line_at(x=snapshot, color=STRONG, width=1.5) | {"xref": "x"}
        layout["shapes"] += [line | {"yref": f"{axis} domain"} for axis in names]
        layout["annotations"].append(_snapshot_label(snapshot, layout["xaxis"], headers[0], legends[0]))
    return figure_of([trace for panel in panels for trace in panel.traces], layout)


def _snapshot_label(snapshot: int, axis: Mapping[str, Any], header: int, legend: int) -> dict[str, Any]:
    """Return the label of a marked snapshot: above all panels, or on the right, near the buttons, beside the title."""
    low, high = axis["range"]
    fraction = (snapshot - low) / (high - low)
    anchor = "left" if fraction < 0.08 else "right" if fraction > 0.92 else "center"
    text, shift = f"<b>{say('step {step:,}', step=snapshot)}</b>", legend if fraction > 0.5 else header
    label = note(text, x=snapshot, xref="x", y=1, yshift=shift, anchor=(anchor, "bottom"))
    return label | {"font": {"size": 12, "color": STRONG}}


def _level_labels(panel: CurvePanel, axis: str) -> list[dict[str, Any]]:
    """Return the labels at the right end of a panel, each at its value; close ones are moved apart."""
    values = np.concatenate([np.array([*panel.levels.values()]), *(trace.y for trace in panel.traces)])
    low, high = panel.axis.get("range", (np.nanmin(values), np.nanmax(values))) if values.size else (0, 1)
    apart = (_LINE - 3) * max(high - low, 1e-9) / panel.height
    labels = sorted((panel.levels | panel.ends).items(), key=lambda label: label[1])
    notes = []
    for i, (words, value) in enumerate(labels):
        is_above = i > 0 and value - labels[i - 1][1] < apart
        is_below = i + 1 < len(labels) and labels[i + 1][1] - value < apart
        anchor = "bottom" if is_above else "top" if is_below else "middle"
        notes.append(note(words, x=1, xshift=4, y=value, yref=axis, anchor=("left", anchor), size=11))
    return notes


_PLAIN = {"showgrid": True, "tickfont": {"size": 11}, "nticks": 5, "exponentformat": "power"}
_LEGEND = LEGEND_ABOVE | {"xref": "paper", "yref": "paper", "bgcolor": "rgba(0,0,0,0)", "itemwidth": 30}
_LEGEND |= {"tracegroupgap": 0, "yanchor": "top"}  # below the title


def _legend_height(panel: CurvePanel, width: float) -> int:
    """Return the px of a panel's legend, in columns where one row is too short."""
    entries = [_ENTRY[0] + _ENTRY[1] * len(trace.name) for trace in panel.traces if trace.showlegend]
    if not entries:
        return 0
    in_row = len(entries) if sum(entries) <= width else max(1, math.floor(width / max(entries)))
    return 6 + (_LINE + 2) * math.ceil(len(entries) / in_row)


def _step_axis(last: int) -> dict[str, Any]:
    """Return the axis of the steps from 0 to the last, for all panels of a figure."""
    margin = 0.02 * max(last, 1)
    return {
        "title": {"text": say("step"), "standoff": 4, "font": {"size": 13}},
        "showspikes": True,
        "spikemode": "across",
        "spikesnap": "data",
        "spikethickness": 1,
        "spikedash": "solid",
        "spikecolor": FAINT,
        "unifiedhovertitle": {"text": f"<b>{say('step {step}', step=STEP)}</b>"},
        "ticks": "outside",
        "ticklen": 4,
        "range": [-margin, last + margin],
        "nticks": 8,
        "tickformat": ",d",
    }


def diamonds(steps: Sequence[int], values: Sequence[float], sentences: Sequence[str], **look: Any) -> go.Scatter:
    """Return marks of head emergence: at each step a diamond whose hover text is a wrapped sentence."""
    marker = {"symbol": "diamond", "opacity": 1} | look.pop("marker")
    return go.Scatter(
        x=steps, y=values, text=sentences, hovertemplate="%{text}<extra></extra>", mode="markers", marker=marker, **look
    )


def line(curve: Curve, name: str, color: str, hover_text: str, *, width: float = 2.5, **more: Any) -> go.Scatter:
    """Return one line with a point at each step, marked where there are few; `more`: other parts of the trace."""
    shown: dict[str, Any] = {"is_marked": len(curve.steps) <= FEW, "showlegend": True}
    shown |= {"hovertemplate": f"{hover_text}<extra></extra>"}
    return line_trace(name, curve.steps, curve.values, color, width=width, **shown | more)


def log_ticks(low: float, high: float, *, n_most: int) -> list[float]:
    """Return round numbers between two positive numbers, as evenly spaced as possible on a logarithmic axis.

    Args:
        low: start of the axis.
        high: end of the axis.
        n_most: maximum length of the result, which is [low] if there is no round number.
    """
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1, 2, 3, 4, 5, 6, 7, 8, 9), (1, 2, 5), (1, 3), (1,)):
        ticks = [digit * 10.0**decade for decade in decades for digit in digits]
        ticks = [value for value in ticks if low <= value * (1 + 1e-9) and value <= high * (1 + 1e-9)]
        if ticks and len(ticks) <= n_most:
            return ticks
    return ticks[:: math.ceil(len(ticks) / n_most)] if ticks else [low]
