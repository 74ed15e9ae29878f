"""The KV cache at one step: what is stored and what is new, and what each step costs with it and without it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Int

from headlight.figures.heatmaps.cells import MOST_TEXTS
from headlight.figures.hues import FAINT, STRONG, WARM, translucent
from headlight.figures.labels import LINE, escape, isolate, shorten, text_width
from headlight.figures.layout import (
    LEGEND_BELOW,
    axis_names,
    axis_title,
    figure_layout,
    figure_of,
    frame_around,
    hover,
    label_axis,
    line_at,
)
from headlight.figures.theme import KEY, VALUE
from headlight.figures.token_grid import TokenAxis, token_legends
from transformer_core.errors import mark
from transformer_core.language import say

_LEAST_ROOM = 16  # positions that there is room for at least; beyond, the room doubles
_PARTED = 0.04  # of the width, between the source and what was read after it
_ROW = 22, 5  # px that the keys, or the values, of a layer take at most and at least
_MOST = 420  # px of all rows
_LEFT, _TITLES, _LEGEND = 60, 62, 30  # px: the layers' numbers, the two titles above the positions, the legend
_GRID_UP_TO = 64  # positions up to which gaps part them
_FEW = 32  # steps up to which each is marked
_PALE = 0.35  # the opacity of what was stored at an earlier step
_STATES = {  # by what z is: what a cell is called, and its color
    mark("key, cached"): translucent(KEY, _PALE),
    mark("key, new"): KEY,
    mark("value, cached"): translucent(VALUE, _PALE),
    mark("value, new"): VALUE,
}
_IN_WORDS = {
    "stored": mark("cached at an earlier step; without a cache it would be recomputed"),
    "new at this step": mark("computed at this step and cached"),
}


def kv_cache_grid(
    labels: Sequence[str],
    *,
    n_layers: int,
    n_cached: int,
    source_labels: Sequence[str] = (),
    title: str = mark("Contents of the KV cache"),
    width: int = 600,
    height: int | None = None,
) -> go.Figure:
    """Draw a cell for the keys, and one for the values, of each layer and position.

    Args:
        labels: the tokens that the decoder has read, those of this step included.
        n_layers: of the decoder.
        n_cached: how many of them were read at earlier steps, so that their keys and values are there already; without
            a cache these would be computed anew.
        source_labels: the tokens of the source, whose keys and values are computed at the first step; () without one.
        title: names the figure.
        width: px that the figure is laid out for; it takes the width that it is given.
        height: px; None: what the layers need.

    Returns:
        A figure with the layers from top to bottom, keys above values. Pale cells were stored at an earlier step,
        strong ones are new. There is room for more positions than were read, so that the figure stays while it fills.

    Raises:
        ValueError: more positions are stored than there are.
    """
    if not 0 <= n_cached <= len(labels):
        raise ValueError(f"{n_cached} positions are stored, but there are {len(labels)}; give a label to each of them.")
    parts = [(say("tokens so far (self-attention)"), labels, n_cached, _room_for(len(labels)))]
    if source_labels:
        n_stored = len(source_labels) if n_cached else 0
        parts.insert(0, (say("source (cross-attention)"), source_labels, n_stored, len(source_labels)))
    inner = width - _LEFT - 8
    edges = _edges([room for *_, room in parts])
    pitch = inner * (edges[0][1] - edges[0][0]) / parts[0][3]
    longest = max((text_width(shorten(label)) for _, of_part, *_ in parts for label in of_part), default=0.0)
    is_slanted = longest > 0.8 * pitch
    top = _TITLES + (0.75 * longest + 6 if is_slanted else LINE)
    row = min(max(_MOST / (2 * n_layers), _ROW[1]), _ROW[0])
    height = height or round(top + 2 * n_layers * row + _LEGEND)
    layout = figure_layout(say(title), height=height, margin=(_LEFT, 8, top, _LEGEND), legend=LEGEND_BELOW)
    layout["shapes"] = []
    axes: dict[str, tuple[TokenAxis, dict[str, Any]]] = {}
    traces: list[Any] = []
    for i, ((name, of_part, n_stored, room), across) in enumerate(zip(parts, edges, strict=True)):
        refs = axis_names(i)
        places = TokenAxis(kind="key", tokens=of_part, n_cells=len(of_part))
        axis = places.axis(name, room=max(pitch * len(of_part), 1), apart=LINE + 4 if is_slanted else LINE)
        axes[f"xaxis{refs['xaxis'][1:]}"] = places, axis
        layout[f"xaxis{refs['xaxis'][1:]}"] = axis | {
            "title": axis_title(name, size=13, standoff=6),
            "domain": [*across],
            "anchor": refs["yaxis"],
            "side": "top",
            "range": [-0.5, room - 0.5],
            "tickangle": -45 if is_slanted else 0,
        }
        layout[f"yaxis{refs['yaxis'][1:]}"] = _layer_axis(n_layers, row, is_named=not i) | {"anchor": refs["xaxis"]}
        whole = (-0.5, room - 0.5), (-0.5, 2 * n_layers - 0.5)
        layout["shapes"].append(frame_around(*whole, color=FAINT, width=1, xref=refs["xaxis"], yref=refs["yaxis"]))
        traces.append(_cells(name, places, n_stored, n_layers, refs))
    return figure_of([*traces, *_legend()], layout | {"meta": token_legends(**axes)})


def cost_lines(
    cached: Int[np.ndarray, " step"],
    uncached: Int[np.ndarray, " step"],
    *,
    at: int | None = None,
    title: str = mark("Cost per step"),
    height: int = 220,
) -> go.Figure:
    """Draw the multiply-adds of each step, with a KV cache and without one.

    Args:
        cached: multiply-adds, with a cache, of the step at which so many tokens were written.
        uncached: those of the same steps if everything is read anew.
        at: the step to mark; None: none.
        title: names the quantity.
        height: px.
    """
    steps = np.arange(len(cached))
    traces = [
        go.Scatter(
            name=name,
            x=steps,
            y=costs,
            mode="lines+markers" if len(steps) <= _FEW else "lines",
            line={"color": hue, "width": 2},
            marker={"color": hue, "size": 5},
            hovertemplate=say("{name}: {n} multiply-adds", name=name, n="%{y:,}") + "<extra></extra>",
        )
        for name, costs, hue in ((say("without a cache"), uncached, WARM), (say("with the cache"), cached, STRONG))
    ]
    top = int(max(uncached.max(initial=1), cached.max(initial=1)))
    layout = figure_layout(say(title), height=height, margin=(60, 12, 56, 44)) | {
        "hovermode": "x unified",
        "showlegend": True,
        "legend": LEGEND_BELOW | {"y": 1, "yanchor": "bottom"},
        "xaxis": {
            "title": axis_title(say("tokens generated before"), size=13),
            "range": [-0.5, max(len(steps), _LEAST_ROOM) - 0.5],
            "tickformat": ",d",
            "nticks": 9,
            "unifiedhovertitle": {"text": f"<b>{say('{n} tokens generated before', n='%{x:,d}')}</b>"},
        },
        "yaxis": {
            "title": axis_title(say("multiply-adds"), size=13),
            "range": [0, 1.06 * top],
            "tickformat": "~s",
            "nticks": 5,
            "showgrid": True,
        },
        "shapes": [] if at is None else [line_at(x=at, color=STRONG, width=1.5, dash="dot")],
    }
    return figure_of(traces, layout)


def _room_for(n_positions: int) -> int:
    """Return for how many positions there is room: a power of two, so that it seldom changes."""
    return max(_LEAST_ROOM, 1 << max(n_positions - 1, 0).bit_length())


def _edges(rooms: Sequence[int]) -> list[tuple[float, float]]:
    """Return where each part begins and ends, as fractions of the width; a position is as wide in all of them."""
    left = 1 - _PARTED * (len(rooms) - 1)
    edges, start = [], 0.0
    for room in rooms:
        end = min(start + left * room / sum(rooms), 1.0)
        edges.append((start, end))
        start = end + _PARTED
    return edges


def _layer_axis(n_layers: int, row: float, *, is_named: bool) -> dict[str, Any]:
    """Return the axis of the layers, each of which has two rows; its numbers are written once."""
    step = max(1, -(-LINE // max(int(2 * row), 1)))
    layers = range(0, n_layers, step) if is_named else range(0)
    title = axis_title(say("layer") if is_named else "", size=13, standoff=6)
    places = [2 * layer + 0.5 for layer in layers]
    return label_axis(places, map(str, layers), title=title, range=[2 * n_layers - 0.5, -0.5])


def _cells(name: str, places: TokenAxis, n_stored: int, n_layers: int, refs: dict[str, str]) -> go.Heatmap:
    """Return the cells of the source, or of what was read after it."""
    n = places.n_cells
    is_new = (np.arange(n) >= n_stored).astype(np.float32)
    pair = np.stack([is_new, 2 + is_new])  # keys, and values below them
    colors = list(_STATES.values())
    edges = [(i + end) / len(colors) for i in range(len(colors)) for end in (0, 1)]
    is_told = 2 * n_layers * n <= MOST_TEXTS
    told = hover(_hover_texts(places, n_stored, n_layers))
    gap = 1 if n <= _GRID_UP_TO else 0
    return go.Heatmap(
        name=name,
        z=np.tile(pair, (n_layers, 1)),
        zmin=-0.5,
        zmax=len(colors) - 0.5,
        colorscale=[(edge, colors[i // 2]) for i, edge in enumerate(edges)],
        showscale=False,
        xgap=gap,
        ygap=gap,
        **refs,
        **(told if is_told else {"hovertemplate": say("position {place}", place="%{x}") + "<extra></extra>"}),
    )


def _hover_texts(places: TokenAxis, n_stored: int, n_layers: int) -> np.ndarray:
    """Return each cell in words."""
    new, stored = say(_IN_WORDS["new at this step"]), say(_IN_WORDS["stored"])
    words = [f"{place} '{escape(isolate(token))}'" for place, token in enumerate(places.tokens)]
    forms = (say("layer {layer}, key of token {token}:"), say("layer {layer}, value of token {token}:"))
    rows = [
        [f"{form.format(layer=layer, token=word)}<br>{stored if i < n_stored else new}" for i, word in enumerate(words)]
        for layer in range(n_layers)
        for form in forms
    ]
    return np.array(rows, dtype=object).reshape(2 * n_layers, places.n_cells)


def _legend() -> list[go.Scatter]:
    """Return a name for each color."""
    return [
        go.Scatter(
            name=say(name),
            x=[None],
            y=[None],
            mode="markers",
            marker={"symbol": "square", "size": 11, "color": color, "line": {"width": 0}},
            hoverinfo="skip",
            showlegend=True,
        )
        for name, color in _STATES.items()
    ]
