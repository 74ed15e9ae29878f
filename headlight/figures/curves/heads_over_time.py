"""One measure of all heads over the steps of a training."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int

from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.analysis.training.curves import Curve, thinned
from headlight.figures.curves.panels import STEP, Panel, panels_over_steps, places, wrapped
from headlight.figures.hues import FAINT, layer_hues, translucent
from headlight.figures.labels import escape
from transformer_core.errors import mark
from transformer_core.language import say

Head = tuple[str, int, int]
"""Its attention's name in ATTENTIONS, its layer, its number."""

Scores = Mapping[str, Float[np.ndarray, "_ _ _"]]
"""By attention: [layer, head, snapshot]; NaN where there is none."""

_HEIGHT = 150  # px of a panel
_N_POINTS = 300  # of a line: there are many lines
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
    log_steps: bool = False,
    width: int = 560,
    height: int | None = None,
) -> go.Figure:
    """Draw a line for each head, in a panel for each attention; the hue tells the layer.

    Args:
        steps: of the snapshots, ascending.
        scores: what was measured, as `HeadHistory.by_attention` gives it.
        chances: what shuffled tokens get: a band over all heads, and a dotted line for the chosen one.
        unit: what stands after a number in words.
        threshold: a dashed line.
        chosen: a head whose line is strong.
        appearances: heads that took up a habit, each with the step and a sentence about it.
        snapshot: a step to mark with a line.
        n_steps: how long the training is to be: the axis goes so far from the beginning on.
        log_steps: steps on a logarithmic axis, to see the early ones.
        width: px that the figure is laid out for; it takes the width that it is given, and no less is needed.
        height: px; None: what the panels need.
    """
    if chosen is not None and chosen[0] not in scores:
        chosen = None  # its measure has no meaning there: then no line is strong
    values = np.concatenate([np.zeros(1), *(of_heads.ravel() for of_heads in scores.values())])
    highest = max(1.0, 1.05 * float(np.nanmax(values)))
    hues = layer_hues(max((len(of_heads) for of_heads in scores.values()), default=1))
    panels = []
    for name, of_heads in scores.items():
        by_chance = (chances or {}).get(name)
        traces = [
            *([] if by_chance is None else _band(steps, by_chance, log=log_steps)),
            *_lines(name, steps, of_heads, by_chance, unit, hues, chosen, log=log_steps),
            *_marks(name, steps, of_heads, hues, appearances, log=log_steps),
        ]
        panels.append(
            Panel(
                title=f"<b>{say(ATTENTIONS[name].title)}</b>",
                height=_HEIGHT,
                axis={"range": [-0.03 * highest, 1.03 * highest]},
                traces=traces,
                levels={} if threshold is None else {say("threshold {threshold:g}", threshold=threshold): threshold},
                ends=_end(name, of_heads, chosen),
            )
        )
    if not panels or not steps.size:
        blank = {"showticklabels": False, "showgrid": False}
        panels = [
            Panel(title="", height=_HEIGHT, axis=blank, traces=[], note=say("No snapshots have been measured yet."))
        ]
    _name_once(panels)
    snapshots = [*steps.tolist(), *([] if snapshot is None else [snapshot])]
    return panels_over_steps(
        panels,
        ends=(min(snapshots, default=0) if log_steps else 0, max([n_steps or 1, *snapshots])),
        log=log_steps,
        snapshot=snapshot,
        hovermode="closest",
        width=width,
        height=height,
    )


def _lines(
    attention: str,
    steps: Int[np.ndarray, " snapshot"],
    scores: Float[np.ndarray, "layer head snapshot"],
    chances: Float[np.ndarray, "layer head snapshot"] | None,
    unit: str,
    hues: Sequence[str],
    chosen: Head | None,
    *,
    log: bool,
) -> list[go.Scatter]:
    """Return the lines of one attention, that of the chosen head and of what it gets by chance last."""
    lines = []
    title, who = say(ATTENTIONS[attention].title), say("{attention} L{layer}.H{head}")
    of_layer, after = say("layer {layer}"), say("step {step}")
    for layer, head in np.ndindex(scores.shape[:2]):
        is_chosen = chosen == (attention, layer, head)
        known = ~np.isnan(scores[layer, head])
        of_head = thinned(Curve(steps[known], scores[layer, head][known]), n_points=_N_POINTS, log=log)
        chance = None if chances is None else chances[layer, head][np.isin(steps, of_head.steps)]
        name = f"<b>{who.format(attention=title, layer=layer, head=head)}</b>"
        by_chance = "" if chance is None else f"<br>{say(_CHANCE)}: %{{customdata:.2f}}"
        hover_text = f"{after.format(step=STEP)}: %{{y:.2f}} {escape(say(unit))}{by_chance}"
        lines.append(
            go.Scatter(
                name=of_layer.format(layer=layer),
                x=places(of_head.steps, log=log),
                y=of_head.values,
                customdata=chance,
                mode="lines" if len(of_head.steps) > 1 else "markers",
                line={"color": hues[layer], "width": 3.5 if is_chosen else 1.3},
                opacity=1 if is_chosen else 0.8 if chosen is None else 0.65,
                legendgroup=f"layer {layer}",
                hovertemplate=f"{name}<br>{hover_text}<extra></extra>",
            )
        )
        if is_chosen and chance is not None:
            dotted = {"color": hues[layer], "width": 1.5, "dash": "dot"}
            looks: dict[str, Any] = {"mode": "lines", "line": dotted, "hoverinfo": "skip"}
            lines.append(go.Scatter(name=say(_CHANCE), x=places(of_head.steps, log=log), y=chance, **looks))
    return sorted(lines, key=lambda line: line.line.width)


def _name_once(panels: Sequence[Panel]) -> None:
    """Let the first panel name what all of them have: each layer, and the band of chance."""
    named: set[str] = set()
    traces = [trace for panel in panels for trace in panel.traces]
    for trace in traces:
        trace.showlegend = trace.legendgroup is not None and trace.legendgroup not in named
        named.add(trace.legendgroup)


def _band(
    steps: Int[np.ndarray, " snapshot"], chances: Float[np.ndarray, "layer head snapshot"], *, log: bool
) -> list[go.Scatter]:
    """Return the band between the lowest and the highest that shuffled tokens get in any head."""
    by_head = chances.reshape(-1, len(steps))
    known = ~np.isnan(by_head).all(axis=0)
    if not known.any():
        return []
    x = places(steps[known], log=log)
    low, high = np.nanmin(by_head[:, known], axis=0), np.nanmax(by_head[:, known], axis=0)
    return [
        go.Scatter(
            name=say(_CHANCE),
            x=np.concatenate([x, x[::-1]]),
            y=np.concatenate([high, low[::-1]]),
            mode="lines",
            line={"width": 0},
            fill="toself",
            fillcolor=translucent(FAINT, 0.25),
            hoverinfo="skip",
            legendgroup=_CHANCE,
        )
    ]


def _marks(
    attention: str,
    steps: Int[np.ndarray, " snapshot"],
    scores: Float[np.ndarray, "layer head snapshot"],
    hues: Sequence[str],
    appearances: Sequence[tuple[Head, int, str]],
    *,
    log: bool,
) -> list[go.Scatter]:
    """Return a diamond on the line of each head at the step at which it took up a habit."""
    here = [(head, step, words) for head, step, words in appearances if head[0] == attention and step in steps]
    if not here:
        return []
    return [
        go.Scatter(
            name=say("head specializes"),
            x=places(np.array([step for _, step, _ in here]), log=log),
            y=[scores[layer, head, int(np.flatnonzero(steps == step)[0])] for (_, layer, head), step, _ in here],
            text=[wrapped(words) for _, _, words in here],
            mode="markers",
            marker={
                "symbol": "diamond",
                "size": 9,
                "color": [hues[layer] for (_, layer, _), _, _ in here],
                "opacity": 1,
            },
            hovertemplate="%{text}<extra></extra>",
            legendgroup="marks",
        )
    ]


def _end(attention: str, scores: Float[np.ndarray, "layer head snapshot"], chosen: Head | None) -> dict[str, float]:
    """Return the name of the chosen head, at the height at which its line ends."""
    if chosen is None or chosen[0] != attention:
        return {}
    _, layer, head = chosen
    known = scores[layer, head][~np.isnan(scores[layer, head])]
    words = say("L{layer}.H{head}", layer=layer, head=head)
    return {f"<b>{words}</b>": float(known[-1])} if known.size else {}
