"""One measure of all heads over the steps of a training."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int

from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.analysis.training.curves import Curve, thinned
from headlight.figures.curves.panels import STEP, CurvePanel, diamonds, panels_over_steps, wrapped
from headlight.figures.elements import line_trace
from headlight.figures.labels import escape
from headlight.figures.theme import FAINT, layer_hues, translucent
from headlight.language import say
from transformer_core.errors import mark

Head = tuple[str, int, int]
"""The attention's name in ATTENTIONS, the layer, the head."""

Scores = Mapping[str, Float[np.ndarray, "_ _ _"]]
"""By attention: [layer, head, snapshot]; NaN where undefined."""

_HEIGHT = 150  # px of a panel
_N_POINTS = 300  # maximum points of a line: there are many lines
_CHANCE = mark("shuffled tokens")


def heads_over_time(
    steps: Int[np.ndarray, " snapshot"],
    scores: Scores,
    *,
    chances: Scores | None = None,
    unit: str = mark("of its attention"),
    threshold: float | None = None,
    chosen: Head | None = None,
    appearances: Sequence[tuple[Head, int, str]] = (),
    snapshot: int | None = None,
    n_steps: int | None = None,
    width: int = 560,
) -> go.Figure:
    """Draw a line for each head, in a panel for each attention; the hue is the layer's.

    Args:
        steps: of the snapshots, ascending.
        scores: the measure, as `HeadHistory.by_attention` gives it.
        chances: scores on shuffled tokens: a band over all heads, and a dotted line for the chosen one.
        unit: after a number in hover texts.
        threshold: a dashed line.
        chosen: a head whose line is strong.
        appearances: heads that specialized, each with the step and a sentence about it.
        snapshot: a step to mark with a line.
        n_steps: planned length of the training, for the axis.
        width: px that the figure is laid out for; its container is at least as wide.
    """
    if chosen is not None and chosen[0] not in scores:
        chosen = None  # the measure is undefined for its attention
    values = np.concatenate([np.zeros(1), *(of_heads.ravel() for of_heads in scores.values())])
    highest = max(1.0, 1.05 * float(np.nanmax(values)))
    hues = layer_hues(max((len(of_heads) for of_heads in scores.values()), default=1))
    levels = {} if threshold is None else {say("threshold {threshold:g}", threshold=threshold): threshold}
    panels = []
    for name, of_heads in scores.items():
        by_chance = (chances or {}).get(name)
        traces = [
            *([] if by_chance is None else _band(steps, by_chance)),
            *_lines(name, steps, of_heads, by_chance, unit, hues, chosen),
            *_marks(name, steps, of_heads, hues, appearances),
        ]
        title, axis = f"<b>{say(ATTENTIONS[name].title)}</b>", {"range": [-0.03 * highest, 1.03 * highest]}
        ends = {}
        if chosen is not None and chosen[0] == name:  # its name, at the height at which its line ends
            known = of_heads[chosen[1:]][~np.isnan(of_heads[chosen[1:]])]
            text = say("L{layer}.H{head}", layer=chosen[1], head=chosen[2])
            ends = {f"<b>{text}</b>": known[-1].item()} if known.size else {}
        panels.append(CurvePanel(title=title, height=_HEIGHT, axis=axis, traces=traces, levels=levels, ends=ends))
    if not panels or not steps.size:
        blank = {"showticklabels": False, "showgrid": False}
        text = say("No snapshots have been measured yet.")
        panels = [CurvePanel(title="", height=_HEIGHT, axis=blank, traces=[], note=text)]
    named: set[str | None] = {None}
    for trace in (trace for panel in panels for trace in panel.traces):  # the first of a group is in the legend
        trace.showlegend = trace.legendgroup not in named
        named.add(trace.legendgroup)
    last = max([n_steps or 1, *steps.tolist(), snapshot or 0])
    return panels_over_steps(panels, last=last, snapshot=snapshot, hovermode="closest", width=width)


def _lines(
    attention: str,
    steps: Int[np.ndarray, " snapshot"],
    scores: Float[np.ndarray, "layer head snapshot"],
    chances: Float[np.ndarray, "layer head snapshot"] | None,
    unit: str,
    hues: Sequence[str],
    chosen: Head | None,
) -> list[go.Scatter]:
    """Return the lines of one attention; those of the chosen head and its chance are last."""
    lines = []
    title, form = say(ATTENTIONS[attention].title), say("{attention} L{layer}.H{head}")
    layer_form, step = say("layer {layer}"), say("step {step}", step=STEP)
    for layer, head in np.ndindex(scores.shape[:2]):
        is_chosen = chosen == (attention, layer, head)
        known = ~np.isnan(scores[layer, head])
        curve = thinned(Curve(steps[known], scores[layer, head][known]), n_points=_N_POINTS)
        chance = None if chances is None else chances[layer, head][np.isin(steps, curve.steps)]
        name = f"<b>{form.format(attention=title, layer=layer, head=head)}</b>"
        by_chance = "" if chance is None else f"<br>{say(_CHANCE)}: %{{customdata:.2f}}"
        lines.append(
            go.Scatter(
                name=layer_form.format(layer=layer),
                x=curve.steps,
                y=curve.values,
                customdata=chance,
                mode="lines" if len(curve.steps) > 1 else "markers",
                line={"color": hues[layer], "width": 3.5 if is_chosen else 1.3},
                opacity=1 if is_chosen else 0.8 if chosen is None else 0.65,
                legendgroup=f"layer {layer}",
                hovertemplate=f"{name}<br>{step}: %{{y:.2f}} {escape(say(unit))}{by_chance}<extra></extra>",
            )
        )
        if is_chosen and chance is not None:
            dotted = {"color": hues[layer], "width": 1.5, "dash": "dot"}
            lines.append(line_trace(say(_CHANCE), curve.steps, chance, hues[layer], line=dotted, hoverinfo="skip"))
    return sorted(lines, key=lambda line: line.line.width)


def _band(steps: Int[np.ndarray, " snapshot"], chances: Float[np.ndarray, "layer head snapshot"]) -> list[go.Scatter]:
    """Return the band between the lowest and the highest score of any head on shuffled tokens."""
    by_head = chances.reshape(-1, len(steps))
    known = ~np.isnan(by_head).all(axis=0)
    if not known.any():
        return []
    x, y = steps[known], by_head[:, known]
    around = np.concatenate([x, x[::-1]]), np.concatenate([np.nanmax(y, axis=0), np.nanmin(y, axis=0)[::-1]])
    look: dict[str, Any] = {"fill": "toself", "fillcolor": translucent(FAINT, 0.25), "hoverinfo": "skip"}
    return [line_trace(say(_CHANCE), *around, FAINT, line={"width": 0}, legendgroup=_CHANCE, **look)]


def _marks(
    attention: str,
    steps: Int[np.ndarray, " snapshot"],
    scores: Float[np.ndarray, "layer head snapshot"],
    hues: Sequence[str],
    appearances: Sequence[tuple[Head, int, str]],
) -> list[go.Scatter]:
    """Return a diamond on the line of each head at the step at which it specialized."""
    here = [(head, step, sentence) for head, step, sentence in appearances if head[0] == attention and step in steps]
    if not here:
        return []
    heads, at, sentences = zip(*here, strict=True)
    values = [
        scores[layer, head, int(np.flatnonzero(steps == step)[0])]
        for (_, layer, head), step in zip(heads, at, strict=True)
    ]
    marker = {"size": 9, "color": [hues[layer] for _, layer, _ in heads]}
    look: dict[str, Any] = {"name": say("head specializes"), "marker": marker, "legendgroup": "marks"}
    return [diamonds(at, values, [wrapped(sentence) for sentence in sentences], **look)]
