"""One measure of a head over many texts: each text is a point, stacked where values are close."""

import html
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int

from headlight.figures.curves.panels import wrapped
from headlight.figures.elements import axis_title, figure_layout, figure_of, hover, line_at, note
from headlight.figures.labels import LINE, escape, isolate, shorten, text_width
from headlight.figures.quantities import Limits
from headlight.figures.theme import FAINT, STRONG, WARM
from headlight.language import localized, say

_POINT = 8.0  # px: the largest point, and the width of a stack
_TOP, _SIDE, _BOTTOM = 74, 16, 46  # px: margins, with the title and the labels of the lines
_WIDTH = 560 - 2 * _SIDE  # px that the axis is laid out for; it takes the width of its container
_LABEL_LINES = 2  # rows of labels
_EDGE = 0.02  # fraction of the axis, added beyond each end
_TEXT_LENGTH = 200  # characters of a text in its hover text


def texts_spread(
    values: Float[np.ndarray, " text"],
    texts: Sequence[str],
    *,
    measure: str,
    unit: str = "",
    limits: Limits | None = (0, 1),
    levels: Mapping[str, float] | None = None,
    chosen: int | None = None,
    title: str | None = None,
    height: int = 240,
) -> go.Figure:
    """Draw a point for each text at its value, with the mean as a line.

    Args:
        values: one per text, NaN where the measure is undefined.
        texts: for the hover texts.
        measure: name of the measure.
        unit: after a number.
        limits: ends of the axis; None: those of the values.
        levels: values to compare with, by their names: dashed lines.
        chosen: a text to mark.
        title: None: the measure and the number of texts.
        height: px.

    Raises:
        ValueError: the numbers of texts and values differ.
    """
    if len(values) != len(texts):
        raise ValueError(f"There are {len(values)} values and {len(texts)} texts; give each text its value.")
    known = np.flatnonzero(~np.isnan(values))
    seen = values[known]
    low, high = _ends(seen, levels or {}, limits)
    heights, tallest = _stacked((seen - low) / (high - low) * _WIDTH / _POINT)
    size = min(_POINT - 1, max(2.0, (height - _TOP - _BOTTOM) / max(tallest, 1) - 0.5))
    form, after = say("text {number}: {value}"), escape(f" {unit}".rstrip())
    hover_texts = [
        form.format(number=i, value=f"{localized(values[i], '.2f')}{after}")
        + f"<br>{wrapped(isolate(shorten(texts[i], _TEXT_LENGTH)))}"
        for i in known.tolist()
    ]
    looks = {"mode": "markers", "showlegend": False} | hover(hover_texts)
    dot = {"size": size, "color": STRONG, "opacity": 0.8, "line": {"width": 0}}
    traces = [go.Scatter(name="texts", x=seen, y=heights + 0.5, marker=dot, **looks)]
    if chosen is not None and not np.isnan(values[chosen]):
        at = known == chosen
        mark = {"size": size + 5, "color": WARM, "symbol": "diamond", "opacity": 1, "line": {"width": 0}}
        looks |= {"customdata": [hover_texts[int(at.argmax())]]}
        traces.append(go.Scatter(name="chosen", x=seen[at], y=heights[at] + 0.5, marker=mark, **looks))
    marks = {escape(level_name): (level, FAINT, "dash") for level_name, level in (levels or {}).items()}
    if seen.size:
        marks[f"<b>{say('mean')}</b>"] = (float(seen.mean()), STRONG, "solid")
    n_unknown = len(values) - len(known)
    left_out = say("{n} of the texts cannot be measured.", n=n_unknown) if n_unknown else ""
    name = measure[:1].upper() + measure[1:]
    title = say("{name}, over {n} texts", name=name, n=len(values)) if title is None else title
    axis_ends = (low - _EDGE * (high - low), high + _EDGE * (high - low))
    layout = figure_layout(title, height=height, margin=(_SIDE, _SIDE, _TOP, _BOTTOM), subtitle=left_out) | {
        "hovermode": "closest",
        "xaxis": {"range": [*axis_ends], "showline": True, "ticks": "outside"}
        | {"title": axis_title(escape(f"{name} ({unit})" if unit else name), size=13, standoff=6)},
        "yaxis": {"range": [0, tallest + 1], "visible": False, "fixedrange": True},
        "shapes": [
            line_at(x=x, color=color, width=1.5, dash=dash) | {"layer": "below"} for x, color, dash in marks.values()
        ],
        "annotations": _labels(marks, axis_ends),
    }
    return figure_of(traces, layout)


def _ends(seen: Float[np.ndarray, " text"], levels: Mapping[str, float], limits: Limits | None) -> tuple[float, float]:
    known = np.concatenate([seen, np.array([*levels.values(), *(limits or ())])])
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _stacked(columns: Float[np.ndarray, " text"]) -> tuple[Int[np.ndarray, " text"], int]:
    """Return the number of points below each point in its stack, and the height of the highest stack.

    Args:
        columns: positions of the points, in units of the stack width.
    """
    counts: dict[int, int] = {}
    heights = np.zeros(len(columns), dtype=int)
    for i in np.argsort(columns, kind="stable").tolist():
        stack = int(columns[i])
        heights[i] = counts.get(stack, 0)
        counts[stack] = int(heights[i]) + 1
    return heights, max(counts.values(), default=0)


def _labels(marks: Mapping[str, tuple[float, str, str]], ends: tuple[float, float]) -> list[dict[str, Any]]:
    """Return the labels above the lines; a label that would touch its neighbour moves up one row."""
    low, high = ends
    labels, line_ends = [], [-math.inf] * _LABEL_LINES
    for name, (x, color, _) in sorted(marks.items(), key=lambda mark: mark[1][0]):
        text = f"{name} {localized(x, '.2f')}"
        half = text_width(html.unescape(re.sub("<.*?>", "", text))) / 2
        at = min(max((x - low) / (high - low) * _WIDTH, half), _WIDTH - half)
        line = next((i for i, end in enumerate(line_ends) if at - half > end), _LABEL_LINES - 1)
        line_ends[line] = at + half + 6
        labels.append(note(text, x=at / _WIDTH, y=1, yshift=line * LINE, anchor=("center", "bottom")))
        labels[-1]["font"]["color"] = color
    return labels
