"""A training over its steps: loss, metrics, learning rate and gradient norm, in panels above one axis."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from headlight.analysis.training.curves import SMOOTHED_FROM, Curve, smoothed, thinned
from headlight.figures.curves.panels import MARKED, CurvePanel, diamonds, line, log_ticks, panels_over_steps, wrapped
from headlight.figures.labels import escape
from headlight.figures.theme import FAINT, STRONG, WARM, layer_hues, translucent
from headlight.language import localized, say, separated
from transformer_core.errors import mark

_HELD_OUT = "held_out_"  # prefix of the names of metrics
_METRICS = {
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
_N_POINTS = 800  # maximum points of a curve: no panel has more px across


def training_curves(
    curves: Mapping[str, Curve],
    *,
    references: Mapping[str, float] | None = None,
    appearances: Sequence[tuple[int, str]] = (),
    snapshot: int | None = None,
    n_steps: int | None = None,
    width: int = 560,
) -> go.Figure:
    """Draw the curves of a training's log as `analysis.curves_of` reads it, without empty panels.

    Args:
        curves: by the names of the log: `loss` and `held_out_loss` in nats per token, `guidance` in nats per pronoun,
            `learning_rate`, `gradient_norm`, and metrics in [0, 1], whose names begin with `held_out_`.
        references: losses in nats per token to compare with, by their names: horizontal lines.
        appearances: steps at which a head specialized, each with a sentence about it.
        snapshot: a step to mark with a line through all panels.
        n_steps: planned length of the training, for the axis.
        width: px that the figure is laid out for; its container is at least as wide.
    """
    by_step = [curve for name, curve in curves.items() if name in _BY_BATCH or name.startswith(_HELD_OUT)]
    some = [thinned(curve, n_points=_N_POINTS).steps for curve in by_step]
    steps = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *some]))  # the same in all panels: comparable
    drawn = {name: Curve(*(part[np.isin(curve.steps, steps)] for part in curve)) for name, curve in curves.items()}
    last = max([n_steps or 1, *steps[-1:].tolist(), *(step for step, _ in appearances), snapshot or 0])
    panels = [
        *_appearances(appearances),
        _loss(curves, drawn, references or {}),
        *_single(drawn, "guidance", say("<b>Guidance loss</b>, nats per pronoun"), 1.0),
        *_metrics(drawn),
        *_single(drawn, "learning_rate", f"<b>{say('Learning rate')}</b>", 1.5),
        *_gradient_norm(drawn),
    ]
    return panels_over_steps(panels, last=last, snapshot=snapshot, width=width)


def _loss(curves: Mapping[str, Curve], drawn: Mapping[str, Curve], references: Mapping[str, float]) -> CurvePanel:
    loss = "%{y:.3f}"
    traces = []
    if "loss" in drawn:
        is_smooth = len(curves["loss"].steps) >= SMOOTHED_FROM
        text = say("training loss: {loss} nats per token", loss=loss)
        look = (translucent(STRONG, 0.5), 1.0) if is_smooth else (STRONG, 2.5)
        traces.append(line(drawn["loss"], say("train"), look[0], text, width=look[1]))
        if is_smooth:
            smooth = smoothed(curves["loss"])
            smooth = Curve(*(part[np.isin(smooth.steps, drawn["loss"].steps)] for part in smooth))
            text = say("training loss, smoothed: {loss} nats per token", loss=loss)
            traces.append(line(smooth, say("smoothed"), STRONG, text))
    if "held_out_loss" in drawn:
        text = say("held-out loss: {loss} nats per token", loss=loss)
        traces.append(line(drawn["held_out_loss"], say("held-out"), WARM, text, mode=MARKED))
    levels = {escape(f"{name} {localized(level, '.2f')}"): level for name, level in references.items()}
    note = "" if any(curve.steps.size for curve in drawn.values()) else say("No steps have been logged yet.")
    values = np.concatenate([[*references.values()], *(trace.y for trace in traces)])
    low, high = (values.min(), values.max()) if values.size else (0.0, 1.0)
    margin = 0.05 * (high - low) or 0.5
    axis = {"range": [low - margin, high + margin]} | ({"showticklabels": False, "showgrid": False} if note else {})
    title = say("<b>Loss</b>, nats per token")
    return CurvePanel(title=title, height=190, axis=axis, traces=traces, levels=levels, note=note)


def _metrics(drawn: Mapping[str, Curve]) -> list[CurvePanel]:
    names = [
        name
        for name, curve in drawn.items()
        if name.startswith(_HELD_OUT) and name != "held_out_loss" and curve.values.max(initial=0) <= 1
    ]
    if not names:
        return []
    traces = []
    for name, hue in zip(names, layer_hues(len(names)), strict=True):
        metric = escape(say(_METRICS.get(name, name.removeprefix(_HELD_OUT).replace("_", " "))))
        text = say("held-out {measure}: {value}", measure=metric, value="%{y:.3f}")
        traces.append(line(drawn[name], metric, hue, text, mode=MARKED))
    axis = {"range": [-0.04, 1.04], "tickvals": [0, 0.5, 1]}
    return [CurvePanel(title=say("<b>Held-out metrics</b>, fraction"), height=110, axis=axis, traces=traces)]


def _single(drawn: Mapping[str, Curve], name: str, title: str, width: float) -> list[CurvePanel]:
    if name not in drawn:
        return []
    hover_text = {
        "guidance": say("guidance loss: {loss} nats per pronoun", loss="%{y:.3f}"),
        "learning_rate": say("learning rate: {rate}", rate="%{y:.3g}"),
    }[name]
    traces = [line(drawn[name], "", FAINT, hover_text, width=width, showlegend=False)]
    return [CurvePanel(title=title, height=60, axis={"rangemode": "tozero", "nticks": 3}, traces=traces)]


def _gradient_norm(drawn: Mapping[str, Curve]) -> list[CurvePanel]:
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
        "ticktext": separated([f"{tick:.2g}" for tick in ticks]),
    }
    text = say("gradient norm, before clipping: {norm}", norm="%{y:.3g}")
    traces = [line(norms, "", FAINT, text, width=1.0, showlegend=False)]
    return [CurvePanel(title=f"<b>{say('Gradient norm')}</b>", height=72, axis=axis, traces=traces)]


def _appearances(appearances: Sequence[tuple[int, str]]) -> list[CurvePanel]:
    """Return a strip with a diamond at each step at which heads specialized; its size shows how many did."""
    if not appearances:
        return []
    by_step: dict[int, list[str]] = {}
    for step, sentence in appearances:
        by_step.setdefault(step, []).append(wrapped(sentence))
    sizes = [9 + 2 * min(len(sentences) - 1, 4) for sentences in by_step.values()]
    marker = {"color": WARM, "line": {"width": 0}, "size": sizes}
    sentences = ["<br>".join(lines) for lines in by_step.values()]
    marks = diamonds([*by_step], [0.0] * len(by_step), sentences, name="", marker=marker, showlegend=False)
    axis = {"range": [-1, 1], "showticklabels": False, "showgrid": False, "fixedrange": True}
    return [CurvePanel(title=f"<b>{say('Head emergence')}</b>", height=18, axis=axis, traces=[marks])]
