"""Bar charts: one to three bars per label, and the most probable tokens for each blank of a text."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from headlight.figures.elements import add_panel, bar_trace, figure_layout, figure_of, label_axis, note
from headlight.figures.heatmaps.cells import BROKEN
from headlight.figures.labels import LINE, escape, isolate, shorten, text_width
from headlight.figures.quantities import rounded
from headlight.figures.theme import FAINT, STRONG, WARM, translucent
from headlight.language import localized, say
from transformer_core.errors import mark

_HUES = (FAINT, STRONG, WARM)
_HEAD_ROOM = 0.12  # of the axis, for the numbers above the bars
_NUMBER, _UPRIGHT = 46, 12  # px taken by a number above a bar: horizontally, and vertically
_TICKS, _TITLE = 46, 22  # px: the axis numbers, and its title; plotly would draw twice to measure them
_PANEL = 210  # px: the least width of a panel
_BAR, _HEADER, _BELOW = 22, 44, 10  # px: a bar, the two lines above a panel, the gap between rows of panels
_ABOVE, _LABELS = 34, 92  # px: the title, and the tokens on the left of a panel
_NUMBER_SHARE = 0.24  # of the axis, after the end of the longest possible bar


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
        bars: heights of the bars by series name; one to three series. -inf draws no bar.
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
        look |= {"constraintext": "none"}  # plotly would shrink upright numbers to the width of their bars
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


def blank_bars(
    probabilities: Sequence[Float[np.ndarray, " candidate"]],
    tokens: Sequence[Sequence[str]],
    *,
    names: Sequence[str],
    entropies: Float[np.ndarray, " blank"],
    next_one: int | None = None,
    filled: Collection[int] = (),
    title: str = mark("Predictions for each blank"),
    width: int = 1000,
) -> go.Figure:
    """Draw the most probable tokens of each blank.

    Args:
        probabilities: of the most probable tokens of each blank, in descending order, in [0, 1].
        tokens: the labels of these tokens.
        names: of the blanks.
        entropies: of the blanks, over the whole vocabulary, in nats.
        next_one: the blank to fill next: its bars are strong and its name says so; None: no blank.
        filled: the blanks that are filled: their bars are gray and their names say so.
        title: names the quantity.
        width: px that the panels are arranged for; the figure takes the width of its container.

    Returns:
        A figure whose panels share one axis from 0 to 1, in rows in the order of the blanks.

    Raises:
        ValueError: there is no blank, or labels, names or entropies do not fit the probabilities.
    """
    sizes = [len(of_blank) for of_blank in probabilities]
    if not sizes or [len(of_blank) for of_blank in tokens] != sizes or not len(names) == len(entropies) == len(sizes):
        raise ValueError(
            f"There are {len(sizes)} blanks with {sum(sizes)} candidates, {sum(map(len, tokens))} labels, {len(names)} "
            f"names and {len(entropies)} entropies; give at least one blank, and each its name, entropy and labels."
        )
    n_across = min(len(sizes), max(1, width // _PANEL))
    n_down = math.ceil(len(sizes) / n_across)
    panel = _HEADER + _BAR * max(sizes)
    room = n_down * panel + (n_down - 1) * _BELOW
    layout = figure_layout(say(title), height=room + _ABOVE + _BELOW, margin=(8, 8, _ABOVE, _BELOW))
    layout |= {"bargap": 0.25, "annotations": [], "showlegend": False}
    share = {"range": [0, 1 + _NUMBER_SHARE], "showticklabels": False, "ticks": "", "fixedrange": True}
    traces = []
    for i, (values, labels, name) in enumerate(zip(probabilities, tokens, names, strict=True)):
        state, hue = (say("next"), STRONG) if i == next_one else ("", translucent(STRONG, 0.6))
        if i in filled:
            state, hue = say("filled"), translucent(FAINT, 0.6)
        down, across = divmod(i, n_across)
        left, right = across / n_across + _LABELS / width, (across + 0.97) / n_across
        top = 1 - down * (panel + _BELOW) / room
        ticks = [escape(isolate(shorten(label))) for label in labels]
        y = label_axis(range(len(values)), ticks, ticklabelstandoff=4, range=[max(sizes) - 0.5, -0.5], fixedrange=True)
        refs = add_panel(layout, i, share, y, across=(left, right), down=(top - panel / room, top - _HEADER / room))
        entropy = float(entropies[i])
        below = say("entropy {entropy:.2f} nats", entropy=entropy) if math.isfinite(entropy) else say(BROKEN)
        header = " · ".join(filter(None, (escape(name), state)))
        header = f"<b>{header}</b><br><span style='font-size:12px'>{below}</span>"
        layout["annotations"].append(note(header, x=left, y=top, anchor=("left", "top"), align="left", size=13))
        hover_texts = [
            f"{escape(name)}: '{escape(isolate(label))}', "
            + (say("probability below 0.001") if value < 0.0005 else say("probability {p:.3f}", p=value))
            + "<br>"
            + (say("rank {rank}", rank=rank) if rank else say("most probable"))
            for rank, (label, value) in enumerate(zip(labels, values.tolist(), strict=True))
        ]
        look: dict[str, Any] = {"color": hue, "texts": [*map(_short, values.tolist())], "is_horizontal": True}
        traces.append(bar_trace(escape(name), values, np.arange(len(values)), hover_texts, **look, **refs))
    return figure_of(traces, layout)


def _short(p: float) -> str:
    """Return a probability with two decimals; a nonzero one never reads as zero."""
    return localized(p, ".2f") if p >= 0.005 else f"< {localized(0.01, '.2f')}"
