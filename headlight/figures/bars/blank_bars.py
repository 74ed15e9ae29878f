"""Predictions for the blanks of a text: a panel for each blank, a bar for each of its most probable tokens."""

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from headlight.figures.heatmaps.cells import BROKEN
from headlight.figures.hues import FAINT, STRONG, translucent
from headlight.figures.labels import escape, isolate, shorten
from headlight.figures.layout import add_panel, bar_trace, figure_layout, figure_of, label_axis, note
from headlight.language import localized, say
from transformer_core.errors import mark

_PANEL = 210  # px: the least width of a panel
_BAR, _HEADER, _BELOW = 22, 44, 10  # px: a bar, the two lines above a panel, the gap between rows of panels
_TITLE = 34  # px
_LABELS = 92  # px on the left of a panel, for its tokens
_NUMBER = 0.24  # of the axis, after the end of the longest possible bar


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
        next_one: the blank that is filled next: its bars are strong and its name says so; None: none.
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
    layout = figure_layout(say(title), height=room + _TITLE + _BELOW, margin=(8, 8, _TITLE, _BELOW))
    layout |= {"bargap": 0.25, "annotations": [], "showlegend": False}
    share = {"range": [0, 1 + _NUMBER], "showticklabels": False, "ticks": "", "fixedrange": True}
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
        look: dict[str, Any] = {"color": hue, "texts": [*map(_short, values.tolist())], "is_lying": True}
        traces.append(bar_trace(escape(name), values, np.arange(len(values)), hover_texts, **look, **refs))
    return figure_of(traces, layout)


def _short(p: float) -> str:
    """Return a probability with two decimals; none looks like zero that is not."""
    return localized(p, ".2f") if p >= 0.005 else f"< {localized(0.01, '.2f')}"
