"""Panels above one axis of the steps of a training, each with a header that says what its lines are."""

import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int

from headlight.figures.hues import FAINT, STRONG
from headlight.figures.labels import escape
from headlight.figures.layout import LEGEND_ABOVE, figure_of, line_at, note
from transformer_core.language import say

_LEFT = 58  # px, for the numbers of the panels' axes
_LINE = 17  # px: the height of a line of text
_LETTER = 6.2  # px: the width of a letter of a label, on the average
_ENTRY = (46, 5.6)  # px: what a line takes in a legend beside its name, and a letter of the name
_WRAP = 64  # letters of a sentence on one line of a hover text
_ZERO = 0.4  # where step 0 lies on a logarithmic axis: before step 1, and its label says 0
STEP = "%{x:,d}"  # in a hover text


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One of the panels above the axis: its name, its height, its own axis, and what is drawn in it."""

    title: str
    height: int  # px
    axis: dict[str, Any]
    traces: list[go.Scatter]
    levels: dict[str, float] = field(default_factory=dict)  # dashed lines, each with a label after its right end
    ends: dict[str, float] = field(default_factory=dict)  # labels after the right end alone
    note: str = ""  # stands in the middle


def wrapped(sentence: str) -> str:
    """Return a sentence in lines of a hover text."""
    return "<br>".join(textwrap.wrap(escape(sentence), _WRAP))


def _names(panels: Sequence[Panel]) -> list[str]:
    """Return the names of the panels' axes, from top to bottom."""
    return [f"y{i + 1 if i else ''}" for i in range(len(panels))]


def panels_over_steps(
    panels: Sequence[Panel],
    *,
    ends: tuple[int, int],
    log: bool,
    snapshot: int | None,
    hovermode: Literal["x unified", "closest"],
    width: int,
    height: int | None,
) -> go.Figure:
    """Return panels above one axis of steps, each with a header.

    Args:
        panels: from top to bottom, one at least.
        ends: the first and the last step of the axis.
        log: whether the axis is logarithmic.
        snapshot: a step to mark with a line through all panels.
        hovermode: whether a hover text tells of all panels at one step, or of one point.
        width: px that the headers and labels are laid out for.
        height: px; None: what the panels need.
    """
    labels = (re.sub("<.*?>", "", words) for panel in panels for words in (*panel.levels, *panel.ends))
    right = 14 + min(_LETTER * max(map(len, labels), default=0), 170)
    room_across = width - _LEFT - right
    legends = [_legend_height(panel, room_across) for panel in panels]
    headers = [_LINE + 6 + legend for legend in legends]
    room = sum(panel.height for panel in panels) + sum(headers[1:])
    margin = {"l": _LEFT, "r": right, "t": 6 + headers[0] + (0 if snapshot is None else _LINE), "b": 46}
    layout: dict[str, Any] = {
        "height": height or room + margin["t"] + margin["b"],
        "margin": margin,
        "hovermode": hovermode,
        "hoversubplots": "axis",
        "uirevision": "steps",  # who has zoomed in stays there while new steps come
        "xaxis": step_axis(*ends, log=log) | {"anchor": _names(panels)[-1]},
        "annotations": [],
        "shapes": [],
    }
    below = room + headers[0]
    for i, (panel, axis) in enumerate(zip(panels, _names(panels), strict=True)):
        top = (below - headers[i]) / room
        below -= headers[i] + panel.height
        layout[f"yaxis{axis[1:]}"] = _PLAIN | panel.axis | {"domain": [max(0.0, below / room), top]}
        layout[f"legend{i + 2}"] = _LEGEND | {"y": top + legends[i] / room}  # all but the first of plotly's look alike
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
        (x,) = places(np.array([snapshot]), log=log).tolist()
        line = line_at(x=x, color=STRONG, width=1.5) | {"xref": "x"}
        layout["shapes"] += [line | {"yref": f"{axis} domain"} for axis in _names(panels)]
        layout["annotations"].append(_snapshot_label(snapshot, layout["xaxis"], headers[0], legends[0]))
    return figure_of([trace for panel in panels for trace in panel.traces], layout)


def _snapshot_label(snapshot: int, axis: Mapping[str, Any], header: int, legend: int) -> dict[str, Any]:
    """Return the label of a marked snapshot: above all panels; on the right, where buttons may be, beside the title."""
    (x,) = places(np.array([snapshot]), log="type" in axis).tolist()
    x = math.log10(x) if "type" in axis else x  # annotations, other than shapes, are placed by the logarithm
    low, high = axis["range"]
    fraction = (x - low) / (high - low)
    anchor = "left" if fraction < 0.08 else "right" if fraction > 0.92 else "center"
    text, shift = f"<b>{say('step {step:,}', step=snapshot)}</b>", legend if fraction > 0.5 else header
    label = note(text, x=x, xref="x", y=1, yshift=shift, anchor=(anchor, "bottom"))
    return label | {"font": {"size": 12, "color": STRONG}}


def _level_labels(panel: Panel, axis: str) -> list[dict[str, Any]]:
    """Return the labels after the right end of a panel, each at its value; two that are close stand apart."""
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
_LEGEND = (
    LEGEND_ABOVE
    | {"xref": "paper", "yref": "paper", "bgcolor": "rgba(0,0,0,0)", "itemwidth": 30}
    | {
        "tracegroupgap": 0,
        "yanchor": "top",  # below the title, as many rows as there are
    }
)


def _legend_height(panel: Panel, width: float) -> int:
    """Return how many px the lines' names take; they stand in columns where one row is too short."""
    entries = [_ENTRY[0] + _ENTRY[1] * len(trace.name) for trace in panel.traces if trace.showlegend]
    if not entries:
        return 0
    in_row = len(entries) if sum(entries) <= width else max(1, math.floor(width / max(entries)))
    return 6 + (_LINE + 2) * math.ceil(len(entries) / in_row)


def places(steps: Int[np.ndarray, " point"], *, log: bool) -> Float[np.ndarray, " point"]:
    """Return where steps lie on the axis, in the axis's own numbers."""
    return np.where(steps > 0, steps, _ZERO if log else 0).astype(np.float64)


def step_axis(first: int, last: int, *, log: bool) -> dict[str, Any]:
    """Return the layout of the axis, for all panels of a figure.

    Args:
        first: the first step that is seen.
        last: the last one.
        log: logarithmic, to see the early steps; step 0 is to the left of step 1.
    """
    axis: dict[str, Any] = {
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
    }
    if not log:
        margin = 0.02 * max(last - first, 1)
        return axis | {"range": [first - margin, last + margin], "nticks": 8, "tickformat": ",d"}
    low, high = float(max(first, 1)), float(max(last, 1))
    ticks = log_ticks(low, high, n_most=7)
    texts = [say("{n:,.0f}", n=value) for value in ticks]
    begin = low if first else _ZERO
    margin = 0.02 * max(math.log10(high / begin), 0.1)
    return axis | {
        "type": "log",
        "range": [math.log10(begin) - margin, math.log10(high) + margin],
        "tickmode": "array",
        "tickvals": ticks if first else [_ZERO, *ticks],
        "ticktext": texts if first else ["0", *texts],
    }


def log_ticks(low: float, high: float, *, n_most: int) -> list[float]:
    """Return round numbers between two positive ones, as even as may be on a logarithmic axis.

    Args:
        low: the lowest number that is seen.
        high: the highest.
        n_most: at most so many are returned; where there is none so round, `low`.
    """
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1, 2, 3, 4, 5, 6, 7, 8, 9), (1, 2, 5), (1, 3), (1,)):
        ticks = [digit * 10.0**decade for decade in decades for digit in digits]
        ticks = [value for value in ticks if low <= value * (1 + 1e-9) and value <= high * (1 + 1e-9)]
        if ticks and len(ticks) <= n_most:
            return ticks
    return ticks[:: math.ceil(len(ticks) / n_most)] if ticks else [low]
