"""How far the variants of an experiment carry: the share that each gets right by the length of what it is given."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int

from headlight.figures.curves.experiment_curves import variant_hues
from headlight.figures.hues import FAINT, translucent
from headlight.figures.labels import escape
from headlight.figures.layout import axis_title, figure_of, frame_around, note
from transformer_core.language import say

_HEIGHT = 430  # px
_LINE = 15  # px between two labels after the lines
_LETTER = 6.4  # px: the width of a letter of a label, on the average
_TOP, _BOTTOM, _LEFT = 50, 48, 58  # px
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "star")  # told apart without their hues


def experiment_lengths(
    names: Mapping[str, str],
    lengths: Int[np.ndarray, " length"],
    by_length: Mapping[str, Float[np.ndarray, " length"]],
    *,
    trained: tuple[int, int],
    unit: str,
    step: int,
    height: int = _HEIGHT,
) -> go.Figure:
    """Draw a line for each variant; the lengths that it was trained on lie on a band.

    Args:
        names: of the variants, as one reads them, in their order.
        lengths: of what was given, ascending.
        by_length: share of right tokens in [0, 1] of each variant that was measured, NaN where there is none.
        trained: the shortest and the longest that was trained on.
        unit: of the lengths, in many: "letters".
        step: after which it was measured.
        height: px.
    """
    hues = variant_hues([*names])
    traces = [
        go.Scatter(
            name=escape(names[variant]),
            x=lengths,
            y=by_length[variant],
            mode="lines+markers",
            line={"color": hues[variant], "width": 2.2},
            marker={"color": hues[variant], "size": 7, "symbol": symbol},
            hovertemplate=say("{name}: token accuracy {share}", name=escape(names[variant]), share="%{y:.0%}")
            + "<extra></extra>",
            showlegend=False,
        )
        for variant, symbol in zip(names, _SYMBOLS, strict=False)
        if variant in by_length
    ]
    first, last = (int(lengths[0]), int(lengths[-1])) if lengths.size else trained
    labels = {
        names[variant]: float(values[-1]) for variant, values in by_length.items() if variant in names and values.size
    }
    colors = {names[variant]: hues[variant] for variant in names}
    carried = say("<b>Length extrapolation</b>, after step {step:,}", step=step)
    of_band = say("<b>training lengths</b>: {shortest} to {longest}", shortest=trained[0], longest=trained[1])
    band = frame_around((trained[0] - 0.6, trained[1] + 0.5), (0, 1), color="", width=0, xref="x", yref="paper")
    band |= {"fillcolor": translucent(FAINT, 0.14), "line": {"width": 0}, "layer": "below"}
    layout: dict[str, Any] = {
        "height": height,
        "margin": {"l": _LEFT, "r": 18 + _LETTER * max(map(len, labels), default=0), "t": _TOP, "b": _BOTTOM},
        "hovermode": "x unified",
        "uirevision": "lengths",
        "xaxis": {
            "title": axis_title(say("length, in {unit}", unit=unit), size=13, standoff=6),
            "range": [first - 0.6, last + 0.6],
            "dtick": 3,
            "tick0": 0,
            "ticks": "outside",
            "ticklen": 4,
            "unifiedhovertitle": {"text": f"<b>%{{x}} {escape(unit)}</b>"},
        },
        "yaxis": {
            "range": [-0.03, 1.03],
            "tickformat": ".0%",
            "dtick": 0.25,
            "showgrid": True,
            "title": axis_title(say("token accuracy"), size=13),
        },
        "shapes": [band],
        "annotations": [
            note(carried, x=0, y=1, yshift=24, anchor=("left", "bottom"), size=13),
            note(of_band, x=trained[0] - 0.6, xref="x", y=1, yshift=3, anchor=("left", "bottom")),
            *_end_labels(labels, colors, room=height - _TOP - _BOTTOM),
        ],
    }
    return figure_of(traces, layout)


def _end_labels(labels: Mapping[str, float], colors: Mapping[str, str], *, room: float) -> list[dict[str, Any]]:
    """Return the variants' names after the ends of their lines, moved apart where they would cover each other."""
    in_order = sorted(labels, key=labels.__getitem__)
    heights = spaced([room * (labels[name] + 0.03) / 1.06 for name in in_order], apart=_LINE)
    look: dict[str, Any] = {"x": 1, "xshift": 6, "anchor": ("left", "middle")}
    return [
        note(escape(name), y=height / room, **look) | {"font": {"size": 12, "color": colors[name]}}
        for name, height in zip(in_order, heights, strict=True)
    ]


def spaced(heights: Sequence[float], *, apart: float) -> list[float]:
    """Return heights, ascending, of which none is nearer to the next than `apart`; all moved as little as may be.

    Neighbours that are too near make a group, which is spread evenly around the middle of where its members were;
    groups that then touch are joined.
    """
    groups: list[list[float]] = []
    for height in heights:
        groups.append([height])
        while len(groups) > 1 and _ends(groups[-2], apart)[1] + apart > _ends(groups[-1], apart)[0]:
            groups[-2:] = [groups[-2] + groups[-1]]
    return [_ends(group, apart)[0] + place * apart for group in groups for place in range(len(group))]


def _ends(group: Sequence[float], apart: float) -> tuple[float, float]:
    """Return where a group's lowest and its highest member come to stand."""
    middle, half = sum(group) / len(group), apart * (len(group) - 1) / 2
    return middle - half, middle + half
