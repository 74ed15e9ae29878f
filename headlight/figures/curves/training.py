"""A training over its steps: loss, accuracy, learning rate and gradient, in panels above one axis."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Int

from headlight.analysis.training.curves import SMOOTHED_FROM, Curve, smoothed, thinned
from headlight.figures.curves.panels import Panel, log_ticks, panels_over_steps, places, wrapped
from headlight.figures.hues import FAINT, STRONG, WARM, layer_hues, translucent
from headlight.figures.labels import escape
from transformer_core.errors import mark
from transformer_core.language import say

_HELD_OUT = "held_out_"  # what the names of measurements begin with
_MEASURES = {
    "held_out_accuracy": mark("accuracy"),
    "held_out_exact_match": mark("exact match"),
    "held_out_pronoun": mark("pronoun"),
    "held_out_antecedent": mark("antecedent"),
    "held_out_continued": mark("repeated tokens"),
    "held_out_determined_accuracy": mark("determined tokens"),
    "held_out_coherent": mark("coherent"),
    "held_out_grammatical": mark("grammatical"),
}
_BY_BATCH = ("loss", "guidance", "learning_rate", "gradient_norm")
_N_POINTS = 800  # of a curve: there are no more px
_FEW = 24  # points up to which each is marked
_MARKED = "lines+markers"


def training_curves(
    curves: Mapping[str, Curve],
    *,
    accuracies: Mapping[str, str] | None = None,
    references: Mapping[str, float] | None = None,
    appearances: Sequence[tuple[int, str]] = (),
    snapshot: int | None = None,
    n_steps: int | None = None,
    log_steps: bool = False,
    width: int = 560,
    height: int | None = None,
) -> go.Figure:
    """Draw what `analysis.curves_of` read from a training's log; a panel for which there is nothing is left out.

    Args:
        curves: by the names of the log: `loss` and `held_out_loss` in nats per token, `guidance` in nats per pronoun,
            `learning_rate`, `gradient_norm`, and measurements in [0, 1], whose names begin with `held_out_`.
        accuracies: which measurements to show, each with its name for the screen; None: all that lie in [0, 1].
        references: losses in nats per token to compare with, by their names: horizontal lines.
        appearances: steps at which a head took up a habit, each with a sentence about it.
        snapshot: a step to mark with a line through all panels.
        n_steps: how long the training is to be: the axis goes so far from the beginning on.
        log_steps: steps on a logarithmic axis, to see the early ones.
        width: px that the figure is laid out for; it takes the width that it is given, and no less is needed.
        height: px; None: what the panels need.
    """
    steps = _seen(curves, log=log_steps)
    drawn = {name: Curve(*(part[np.isin(curve.steps, steps)] for part in curve)) for name, curve in curves.items()}
    snapshots = [*steps[[0, -1] if steps.size else []].tolist(), *(step for step, _ in appearances)]
    snapshots += [] if snapshot is None else [snapshot]
    panels = [
        *_appearances(appearances, log=log_steps),
        _loss(curves, drawn, references or {}, log=log_steps),
        *_guidance(drawn, log=log_steps),
        *_accuracy(drawn, accuracies, log=log_steps),
        *_learning_rate(drawn, log=log_steps),
        *_gradient_norm(drawn, log=log_steps),
    ]
    return panels_over_steps(
        panels,
        ends=(min(snapshots, default=0) if log_steps else 0, max([n_steps or 1, *snapshots])),
        log=log_steps,
        snapshot=snapshot,
        hovermode="x unified",
        width=width,
        height=height,
    )


def _seen(curves: Mapping[str, Curve], *, log: bool) -> Int[np.ndarray, " step"]:
    """Return the steps that are drawn, the same ones in all panels, so that they can be read together."""
    drawn = [curve for name, curve in curves.items() if name in _BY_BATCH or name.startswith(_HELD_OUT)]
    seen = [thinned(curve, n_points=_N_POINTS, log=log).steps for curve in drawn]
    return np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *seen]))


def _loss(
    curves: Mapping[str, Curve], drawn: Mapping[str, Curve], references: Mapping[str, float], *, log: bool
) -> Panel:
    """Return the panel of the loss; it is there even before the first step."""
    loss = "%{y:.3f}"
    traces = []
    if "loss" in drawn:
        is_smooth = len(curves["loss"].steps) >= SMOOTHED_FROM
        faint = translucent(STRONG, 0.5)
        each = say("training loss: {loss} nats per token", loss=loss)
        if is_smooth:
            smooth = smoothed(curves["loss"])
            smooth = Curve(*(part[np.isin(smooth.steps, drawn["loss"].steps)] for part in smooth))
            traces.append(_line(drawn["loss"], say("train"), faint, each, log=log, width=1.0))
            traces.append(
                _line(
                    smooth,
                    say("smoothed"),
                    STRONG,
                    say("training loss, smoothed: {loss} nats per token", loss=loss),
                    log=log,
                )
            )
        else:
            traces.append(_line(drawn["loss"], say("train"), STRONG, each, log=log))
    if "held_out_loss" in drawn:
        words = say("held-out loss: {loss} nats per token", loss=loss)
        traces.append(_line(drawn["held_out_loss"], say("held-out"), WARM, words, log=log, mode=_MARKED))
    levels = {escape(f"{name} {level:.2f}"): level for name, level in references.items()}
    note = "" if any(curve.steps.size for curve in drawn.values()) else say("No steps have been logged yet.")
    values = np.concatenate([[*references.values()], *(trace.y for trace in traces)])
    low, high = (values.min(), values.max()) if values.size else (0.0, 1.0)
    margin = 0.05 * (high - low) or 0.5
    axis = {"range": [low - margin, high + margin]} | ({"showticklabels": False, "showgrid": False} if note else {})
    return Panel(
        title=say("<b>Loss</b>, nats per token"), height=190, axis=axis, traces=traces, levels=levels, note=note
    )


def _accuracy(drawn: Mapping[str, Curve], names: Mapping[str, str] | None, *, log: bool) -> list[Panel]:
    """Return the panel of what is measured on held-out texts in [0, 1], if there is anything."""
    if names is None:
        names = {
            name: say(_MEASURES.get(name, name.removeprefix(_HELD_OUT).replace("_", " ")))
            for name, curve in drawn.items()
            if name.startswith(_HELD_OUT) and name != "held_out_loss" and curve.values.max(initial=0) <= 1
        }
    names_drawn = {name: escape(words) for name, words in names.items() if name in drawn}
    if not names_drawn:
        return []
    traces = [
        _line(
            drawn[name],
            words,
            hue,
            say("held-out {measure}: {value}", measure=words, value="%{y:.3f}"),
            log=log,
            mode=_MARKED,
        )
        for (name, words), hue in zip(names_drawn.items(), layer_hues(len(names_drawn)), strict=True)
    ]
    axis = {"range": [-0.04, 1.04], "tickvals": [0, 0.5, 1]}
    return [Panel(title=say("<b>Held-out metrics</b>, fraction"), height=110, axis=axis, traces=traces)]


def _guidance(drawn: Mapping[str, Curve], *, log: bool) -> list[Panel]:
    """Return the panel of the guided head's loss, if a head is guided."""
    if "guidance" not in drawn:
        return []
    words = say("guidance loss: {loss} nats per pronoun", loss="%{y:.3f}")
    traces = [_line(drawn["guidance"], "", FAINT, words, log=log, width=1.0, showlegend=False)]
    title = say("<b>Guidance loss</b>, nats per pronoun")
    return [Panel(title=title, height=60, axis={"rangemode": "tozero", "nticks": 3}, traces=traces)]


def _learning_rate(drawn: Mapping[str, Curve], *, log: bool) -> list[Panel]:
    """Return the panel of the learning rate, if there is one."""
    if "learning_rate" not in drawn:
        return []
    words = say("learning rate: {rate}", rate="%{y:.3g}")
    traces = [_line(drawn["learning_rate"], "", FAINT, words, log=log, width=1.5, showlegend=False)]
    return [
        Panel(
            title=f"<b>{say('Learning rate')}</b>", height=60, axis={"rangemode": "tozero", "nticks": 3}, traces=traces
        )
    ]


def _gradient_norm(drawn: Mapping[str, Curve], *, log: bool) -> list[Panel]:
    """Return the panel of the gradient's norm, on an axis by factors, if there is one above 0."""
    norms = drawn.get("gradient_norm")
    if norms is None or not (norms.values > 0).any():
        return []
    positive = norms.values[norms.values > 0]
    low, high = float(positive.min()) / 1.4, float(positive.max()) * 1.4
    ticks = log_ticks(low, high, n_most=4)
    axis = {
        "type": "log",
        "range": [np.log10(low), np.log10(high)],
        "tickmode": "array",
        "tickvals": ticks,
        "ticktext": [f"{tick:.2g}" for tick in ticks],
    }
    words = say("gradient norm, before clipping: {norm}", norm="%{y:.3g}")
    traces = [_line(norms, "", FAINT, words, log=log, width=1.0, showlegend=False)]
    return [Panel(title=f"<b>{say('Gradient norm')}</b>", height=72, axis=axis, traces=traces)]


def _appearances(appearances: Sequence[tuple[int, str]], *, log: bool) -> list[Panel]:
    """Return a strip with a mark at each step at which heads took up a habit; its size tells how many."""
    if not appearances:
        return []
    by_step: dict[int, list[str]] = {}
    for step, sentence in appearances:
        by_step.setdefault(step, []).append(wrapped(sentence))
    marks = go.Scatter(
        name="",
        x=places(np.array(list(by_step)), log=log),
        y=np.zeros(len(by_step)),
        text=["<br>".join(sentences) for sentences in by_step.values()],
        hovertemplate="%{text}<extra></extra>",
        mode="markers",
        marker={
            "symbol": "diamond",
            "color": WARM,
            "opacity": 1,
            "line": {"width": 0},
            "size": [9 + 2 * min(len(sentences) - 1, 4) for sentences in by_step.values()],
        },
        showlegend=False,
    )
    axis = {"range": [-1, 1], "showticklabels": False, "showgrid": False, "fixedrange": True}
    return [Panel(title=f"<b>{say('Head emergence')}</b>", height=18, axis=axis, traces=[marks])]


def _line(curve: Curve, name: str, color: str, words: str, *, log: bool, width: float = 2.5, **more: Any) -> go.Scatter:
    """Return one line; of few points, each is marked."""
    mode = more.pop("mode", _MARKED if len(curve.steps) <= _FEW else "lines")
    return go.Scatter(
        name=name,
        x=places(curve.steps, log=log),
        y=curve.values,
        mode=mode,
        line={"color": color, "width": width},
        marker={"color": color, "size": 6},
        hovertemplate=f"{words}<extra></extra>" if words else None,
        **{"showlegend": True} | more,
    )
