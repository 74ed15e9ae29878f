"""The variants of an experiment: their curves over the steps, and how they extrapolate to other lengths."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int

from headlight.analysis.training.curves import Curve
from headlight.figures.curves.panels import CurvePanel, line, panels_over_steps
from headlight.figures.elements import axis_title, figure_of, frame_around, line_trace, note
from headlight.figures.labels import escape
from headlight.figures.theme import FAINT, layer_hues, translucent
from headlight.language import say

_LOSS_HEIGHT, _SHARE_HEIGHT = 210, 120  # px of a panel
_NOTHING = Curve(np.zeros(0, dtype=np.int64), np.zeros(0))

_LABEL_LINE = 15  # px between two labels at the ends of lines
_LETTER = 6.4  # px: mean width of a letter of a label
_HEIGHT, _TOP, _BOTTOM, _LEFT = 430, 50, 48, 58  # px
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "star")  # distinguishable without color


def variant_hues(variants: Sequence[str]) -> dict[str, str]:
    """Return the hue of each variant, the same in all figures of an experiment."""
    return dict(zip(variants, layer_hues(len(variants)), strict=True))


def experiment_curves(
    names: Mapping[str, str],
    losses: Mapping[str, Curve],
    *,
    held_out_losses: Mapping[str, Curve] | None = None,
    shares: Mapping[str, Curve],
    n_steps: int,
) -> go.Figure:
    """Draw a line for each variant of an experiment in each panel.

    Args:
        names: displayed names of the variants, in their order.
        losses: training losses, nats per token.
        held_out_losses: nats per token; None: no panel for them.
        shares: exact match on held-out texts, free-running, in [0, 1].
        n_steps: planned length of the experiment.
    """
    hues, nats = variant_hues([*names]), say("nats per token")

    def panel(title: str, unit: str, height: int, curves: Mapping[str, Curve], form: str, **more: Any) -> CurvePanel:
        traces = [
            line(
                curves.get(variant, _NOTHING),
                escape(name),
                hues[variant],
                f"{escape(name)}: {form}",
                width=2.2,
                legendgroup=variant,
                showlegend=curves is losses,
            )
            for variant, name in names.items()
        ]
        return CurvePanel(
            title=f"<b>{title}</b>, {unit}", height=height, traces=traces, **{"axis": _from_zero(curves)} | more
        )

    in_nats = "%{y:.3f} " + nats
    empty = "" if losses else say("No steps have been trained yet.")
    panels = [panel(say("Training loss"), nats, _LOSS_HEIGHT, losses, in_nats, note=empty)]
    if held_out_losses is not None:
        panels.append(panel(say("Held-out loss"), nats, _SHARE_HEIGHT, held_out_losses, in_nats))
    axis = {"range": [-0.04, 1.04], "tickvals": [0, 0.5, 1], "tickformat": ".0%"}
    unit = say("fraction of held-out data, free-running")
    panels.append(panel(say("Exact match"), unit, _SHARE_HEIGHT, shares, "%{y:.0%}", axis=axis))
    return panels_over_steps(panels, last=n_steps)


def _from_zero(curves: Mapping[str, Curve]) -> dict[str, Any]:
    highest = max((float(curve.values.max()) for curve in curves.values() if curve.values.size), default=0.0)
    if not highest:
        return {"range": [-0.04, 1.06], "showticklabels": False, "showgrid": False}
    return {"range": [-0.04 * highest, 1.06 * highest]}


def experiment_lengths(
    names: Mapping[str, str],
    lengths: Int[np.ndarray, " length"],
    by_length: Mapping[str, Float[np.ndarray, " length"]],
    *,
    trained: tuple[int, int],
    unit: str,
    step: int,
) -> go.Figure:
    """Draw the token accuracy of each variant by the length of the input; a band marks the training lengths.

    Args:
        names: displayed names of the variants, in their order.
        lengths: of the inputs, ascending.
        by_length: token accuracy in [0, 1] of each variant that was measured, NaN where undefined.
        trained: the shortest and the longest training length.
        unit: of the lengths, in the plural: "letters".
        step: of the measurement.
    """
    hues = variant_hues([*names])
    form = say("{name}: token accuracy {share}")
    traces = [
        line_trace(
            escape(names[variant]),
            lengths,
            by_length[variant],
            hues[variant],
            width=2.2,
            is_marked=True,
            marker={"color": hues[variant], "size": 7, "symbol": symbol},
            hovertemplate=form.format(name=escape(names[variant]), share="%{y:.0%}") + "<extra></extra>",
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
    title = say("<b>Length extrapolation</b>, after step {step:,}", step=step)
    band_label = say("<b>training lengths</b>: {shortest} to {longest}", shortest=trained[0], longest=trained[1])
    band = frame_around((trained[0] - 0.6, trained[1] + 0.5), (0, 1), color="", width=0, xref="x", yref="paper")
    band |= {"fillcolor": translucent(FAINT, 0.14), "line": {"width": 0}, "layer": "below"}
    layout: dict[str, Any] = {
        "height": _HEIGHT,
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
        "yaxis": {"range": [-0.03, 1.03], "tickformat": ".0%", "dtick": 0.25, "showgrid": True}
        | {"title": axis_title(say("token accuracy"), size=13)},
        "shapes": [band],
        "annotations": [
            note(title, x=0, y=1, yshift=24, anchor=("left", "bottom"), size=13),
            note(band_label, x=trained[0] - 0.6, xref="x", y=1, yshift=3, anchor=("left", "bottom")),
            *_end_labels(labels, colors, room=_HEIGHT - _TOP - _BOTTOM),
        ],
    }
    return figure_of(traces, layout)


def _end_labels(labels: Mapping[str, float], colors: Mapping[str, str], *, room: float) -> list[dict[str, Any]]:
    """Return the names of the variants at the ends of their lines, moved apart where they would overlap."""
    in_order = sorted(labels, key=labels.__getitem__)
    heights = spaced([room * (labels[name] + 0.03) / 1.06 for name in in_order], apart=_LABEL_LINE)
    look: dict[str, Any] = {"x": 1, "xshift": 6, "anchor": ("left", "middle")}
    return [
        note(escape(name), y=height / room, **look) | {"font": {"size": 12, "color": colors[name]}}
        for name, height in zip(in_order, heights, strict=True)
    ]


def spaced(heights: Sequence[float], *, apart: float) -> list[float]:
    """Return ascending heights moved as little as possible so that neighbours are at least `apart` from each other.

    Neighbours that are too close form a group, spread evenly around the middle of its members; groups that then touch
    are joined.
    """
    groups: list[list[float]] = []
    for height in heights:
        groups.append([height])
        while len(groups) > 1 and _ends(groups[-2], apart)[1] + apart > _ends(groups[-1], apart)[0]:
            groups[-2:] = [groups[-2] + groups[-1]]
    return [_ends(group, apart)[0] + place * apart for group in groups for place in range(len(group))]


def _ends(group: Sequence[float], apart: float) -> tuple[float, float]:
    middle, half = sum(group) / len(group), apart * (len(group) - 1) / 2
    return middle - half, middle + half
