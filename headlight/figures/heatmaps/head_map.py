"""A map of heads: similar ones are close to each other."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int

from headlight.figures.elements import axis_title, figure_layout, figure_of, hover, legend_entry
from headlight.figures.labels import LINE, escape, text_width
from headlight.figures.theme import FAINT, WARM, category_hues
from headlight.language import say
from transformer_core.errors import mark

SYMBOLS = ("circle", "diamond", "square", "triangle-up")
"""The marks of the models, in their order."""

_TOP, _SIDE, _BOTTOM, _LEGEND = 58, 12, 34, 22  # px: margins, and a line of the legend
_MARK, _RING = 9, 17  # px: a head, and the ring around the chosen one
_WIDTH = 600  # px that the figure is laid out for; it takes the width of its container
_MARGIN = 0.06  # of the extent of the map, on each side
_LETTER = 0.85  # width of a letter, relative to tick texts
_LABEL_SIDES = {  # by plotly's names: direction from the point to the middle of its label
    "middle right": (1, 0),
    "middle left": (-1, 0),
    "top center": (0, -1),
    "bottom center": (0, 1),
}


def head_map_figure(
    points: Float[np.ndarray, "head 2"],
    labels: Sequence[str],
    *,
    words: Sequence[str] | None = None,
    clusters: Int[np.ndarray, " head"] | None = None,
    cluster_names: Sequence[str] = (),
    models: Int[np.ndarray, " head"] | None = None,
    model_names: Sequence[str] = (),
    kept: float | None = None,
    chosen: int | None = None,
    title: str = mark("Head map"),
    height: int = 540,
) -> go.Figure:
    """Draw a mark for each head; the hue is its cluster and the shape its model.

    Args:
        points: positions of the heads; only their distances matter.
        labels: short names, such as 1.3 for head 3 of layer 1; written where there is room.
        words: names for the hover texts; None: the labels.
        clusters: of each head, from 0; None: all have one hue.
        cluster_names: for the legend and the hover texts.
        models: of each head, from 0; None: there is one.
        model_names: for the legend and the hover texts, where there are several.
        kept: fraction of the variance that this plane explains, for the subtitle.
        chosen: a head to mark with a ring.
        title: names the map.
        height: px.

    Returns:
        A figure whose two axes have the same scale and no numbers.

    Raises:
        ValueError: there are not as many labels as points, or a cluster or a model has no name or mark.
    """
    n = len(points)
    clusters = np.zeros(n, dtype=int) if clusters is None else clusters
    models = np.zeros(n, dtype=int) if models is None else models
    words = labels if words is None else words
    if len(labels) != n or len(words) != n:
        raise ValueError(
            f"There are {n} heads and {len(labels)} labels; give each head one, and words for all or none."
        )
    if n and cluster_names and not 0 <= clusters.min() <= clusters.max() < len(cluster_names):
        raise ValueError(f"There are {len(cluster_names)} cluster names, but cluster {clusters.max()}; name them all.")
    n_models = len(model_names) or 1
    if n and not 0 <= models.min() <= models.max() < min(n_models, len(SYMBOLS)):
        raise ValueError(
            f"There are {n_models} models with names, but model {models.max()}; name them all, {len(SYMBOLS)} at most."
        )
    model_names = model_names if n_models > 1 else ()
    hues = category_hues(max(len(cluster_names), 1))
    names = [*cluster_names, *model_names]
    n_lines = 0
    if names:  # plotly makes all names as wide as the longest
        n_lines = -(-len(names) // max(1, int((_WIDTH - 2 * _SIDE) / (44 + text_width(max(names, key=len))))))
    bottom = _BOTTOM + _LEGEND * n_lines
    room = _WIDTH - 2 * _SIDE, height - _TOP - bottom
    ranges, px = _laid_out(points, room)
    sizes = np.where(np.arange(n) == chosen, _RING, _MARK)
    sides = label_sides(px, labels, size=room, radii=sizes / 1.6 + 1)  # the distance at which plotly writes labels

    hover_texts = [
        f"<b>{escape(word)}</b>"
        + "".join(f"<br>{escape(of[i])}" for of, i in ((model_names, model), (cluster_names, cluster)) if of)
        for word, model, cluster in zip(words, models.tolist(), clusters.tolist(), strict=True)
    ]
    written = [i for i, side in enumerate(sides) if side]
    quiet: dict[str, Any] = {"hoverinfo": "skip", "showlegend": False}
    traces = [
        go.Scatter(  # the first of the figure, so that the template writes in the color of the text
            name="labels",
            x=points[written, 0],
            y=points[written, 1],
            text=[escape(labels[i]) for i in written],
            textposition=[sides[i] for i in written],
            mode="markers+text",  # invisible marks, which keep the texts off the marks of the heads
            marker={"size": sizes[written], "opacity": 0},
            **quiet,
        ),
        go.Scatter(
            name="heads",
            x=points[:, 0],
            y=points[:, 1],
            mode="markers",
            marker={"size": _MARK, "opacity": 0.9, "line": {"width": 0}}
            | {"color": [hues[c] for c in clusters.tolist()], "symbol": [SYMBOLS[m] for m in models.tolist()]},
            showlegend=False,
            **hover(hover_texts),
        ),
    ]
    if chosen is not None:
        x, y = points[chosen].tolist()
        ring = {"size": _RING, "symbol": "circle-open", "color": WARM, "line": {"width": 2.5}}
        traces.append(go.Scatter(name="chosen", x=[x], y=[y], mode="markers", marker=ring, **quiet))
    entries = [(name, hue, SYMBOLS[0]) for name, hue in zip(cluster_names, hues, strict=False)]
    entries += [(name, FAINT, symbol) for name, symbol in zip(model_names, SYMBOLS, strict=False)]
    for name, hue, symbol in entries:
        look = {"size": _MARK, "color": hue, "symbol": symbol}
        traces.append(legend_entry(escape(name), mode="markers", marker=look))
    explained = "" if kept is None else say("These two dimensions explain {share:.0%} of the variance.", share=kept)
    axis = {
        "showticklabels": False,
        "ticks": "",
        "showgrid": False,
        "zeroline": False,
        "showline": True,
        "mirror": True,
    }
    about = say("only distances are meaningful: nearby heads are similar")
    layout = figure_layout(say(title), height=height, margin=(_SIDE, _SIDE, _TOP, bottom), subtitle=explained) | {
        "hovermode": "closest",
        "showlegend": bool(names),
        "legend": {"orientation": "h", "x": 0, "y": -_BOTTOM / room[1], "yanchor": "top", "itemwidth": 30}
        | {"font": {"size": 12}},
        "xaxis": axis | {"range": ranges[0], "title": axis_title(about, standoff=8)},
        "yaxis": axis | {"range": ranges[1], "scaleanchor": "x"},
    }
    return figure_of(traces, layout)


def _laid_out(
    points: Float[np.ndarray, "head 2"], room: tuple[float, float]
) -> tuple[tuple[list[float], list[float]], Float[np.ndarray, "head 2"]]:
    """Return the ranges of the two axes, with one scale, and the points in px from the top left."""
    if not len(points):
        return ([0.0, 1.0], [0.0, 1.0]), np.zeros((0, 2))
    low, high = points.min(axis=0), points.max(axis=0)
    extent = (high - low) * (1 + 2 * _MARGIN)
    per_px = float((extent / room).max()) or 1 / min(room)
    half = np.array(room) * per_px / 2
    start, end = (low + high) / 2 - half, (low + high) / 2 + half
    px = np.stack([points[:, 0] - start[0], end[1] - points[:, 1]], axis=1) / per_px
    return ([start[0], end[0]], [start[1], end[1]]), px


def label_sides(
    points: Float[np.ndarray, "point 2"],
    texts: Sequence[str],
    *,
    size: tuple[float, float],
    radii: Float[np.ndarray, " point"],
) -> list[str]:
    """Return the side of each point for its label, "" where it would cover another point or label.

    Args:
        points: in px, from the top left.
        texts: the labels; earlier ones take precedence.
        size: width and height in px.
        radii: px from the middle of each point to its label.
    """
    marks = np.concatenate([points - radii[:, None], points + radii[:, None]], axis=1)  # left, top, right, bottom
    boxes: list[np.ndarray] = []
    sides = []
    for i, text in enumerate(texts):
        half = np.array([_LETTER * text_width(text) / 2, LINE / 2])
        others = np.delete(marks, i, axis=0)
        taken = np.concatenate([others, np.array(boxes).reshape(-1, 4)])
        for side, direction in _LABEL_SIDES.items():
            middle = points[i] + np.array(direction) * (half + radii[i])
            box = np.concatenate([middle - half, middle + half])
            overlaps = ((box[:2] < taken[:, 2:]) & (box[2:] > taken[:, :2])).all(axis=1)
            if (box[:2] >= 0).all() and (box[2:] <= size).all() and not overlaps.any():
                boxes.append(box)
                sides.append(side)
                break
        else:
            sides.append("")
    return sides
