"""What may stand in each blank of a text: a panel for each blank, a bar for each of its most probable tokens."""

import math
from collections.abc import Collection, Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from headlight.figures.heatmaps.cells import BROKEN
from headlight.figures.hues import FAINT, STRONG, translucent
from headlight.figures.labels import escape, isolate, shorten
from headlight.figures.layout import axis_names, figure_layout, figure_of, hover, label_axis, note
from transformer_core.errors import mark
from transformer_core.language import say

_PANEL = 210  # px: the least width of a panel
_BAR, _HEADER, _BELOW = 22, 44, 10  # px: of a bar, of a panel's two lines, and what parts two rows of panels
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
    height: int | None = None,
) -> go.Figure:
    """Draw the most probable tokens of each blank.

    Args:
        probabilities: of each blank, those of its most probable tokens, the best first; in [0, 1].
        tokens: of each blank, their labels.
        names: what each blank is called.
        entropies: of each blank, over the whole vocabulary, in nats.
        next_one: the blank that is filled next: its bars stand out and its name says so; None: none.
        filled: the blanks that are filled: their bars are grey and their names say so.
        title: names the quantity.
        width: px that the panels are arranged for; it takes the width that it is given.
        height: px; None: what the panels need.

    Returns:
        A figure whose panels have the same axis, from 0 to 1; in rows, in the order of the blanks.

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
    height = height or room + _TITLE + _BELOW
    layout = figure_layout(say(title), height=height, margin=(8, 8, _TITLE, _BELOW))
    layout |= {"bargap": 0.25, "annotations": [], "showlegend": False}
    traces = []
    for i, (values, labels, name) in enumerate(zip(probabilities, tokens, names, strict=True)):
        refs = axis_names(i)
        mark, hue = (say("next"), STRONG) if i == next_one else ("", translucent(STRONG, 0.6))
        if i in filled:
            mark, hue = say("filled"), translucent(FAINT, 0.6)
        down, across = divmod(i, n_across)
        left, right = across / n_across + _LABELS / width, (across + 0.97) / n_across
        top = 1 - down * (panel + _BELOW) / room
        layout[f"xaxis{refs['xaxis'][1:]}"] = _SHARE | {"domain": [left, right], "anchor": refs["yaxis"]}
        layout[f"yaxis{refs['yaxis'][1:]}"] = label_axis(
            range(len(values)), [escape(isolate(shorten(label))) for label in labels], ticklabelstandoff=4
        ) | {
            "domain": [max(0.0, top - panel / room), top - _HEADER / room],
            "anchor": refs["xaxis"],
            "range": [max(sizes) - 0.5, -0.5],
            "fixedrange": True,
        }
        header = _header(name, float(entropies[i]), mark)
        layout["annotations"].append(note(header, x=left, y=top, anchor=("left", "top"), align="left", size=13))
        traces.append(
            go.Bar(
                name=escape(name),
                x=values,
                y=np.arange(len(values)),
                **refs,
                orientation="h",
                marker={"color": hue, "line": {"width": 0}},
                text=[f"{value:.2f}" if value >= 0.005 else "< 0.01" for value in values.tolist()],
                textposition="outside",
                cliponaxis=False,
                **hover(_words(name, labels, values)),
            )
        )
    return figure_of(traces, layout)


_SHARE = {"range": [0, 1 + _NUMBER], "showticklabels": False, "ticks": "", "fixedrange": True}


def _header(name: str, entropy: float, mark: str) -> str:
    """Return the two lines above a panel."""
    entropy_text = say("entropy {entropy:.2f} nats", entropy=entropy) if math.isfinite(entropy) else say(BROKEN)
    title = " · ".join(filter(None, (escape(name), mark)))
    return f"<b>{title}</b><br><span style='font-size:12px'>{entropy_text}</span>"


def _words(name: str, labels: Sequence[str], values: Float[np.ndarray, " candidate"]) -> list[str]:
    """Return each bar in words."""
    return [
        f"{escape(name)}: '{escape(isolate(label))}', {_percent(value)}<br>"
        + (say("rank {rank}", rank=rank) if rank else say("most probable"))
        for rank, (label, value) in enumerate(zip(labels, values.tolist(), strict=True))
    ]


def _percent(probability: float) -> str:
    """Return a probability; none looks like zero that is not."""
    if probability < 0.0005:
        return say("probability below 0.001")
    return say("probability {p:.3f}", p=probability)
