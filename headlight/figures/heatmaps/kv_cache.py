"""The KV cache at one step, and the cost of each step with and without it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Int

from headlight.figures import elements
from headlight.figures.heatmaps.cells import MOST_TEXTS
from headlight.figures.labels import LINE, escape, isolate, shorten, text_width
from headlight.figures.theme import FAINT, KEY, STRONG, VALUE, WARM, translucent
from headlight.figures.token_grid import TokenAxis, token_legends
from headlight.language import say
from transformer_core.errors import mark

_LEAST_ROOM = 16  # minimum positions with room reserved; beyond, the room doubles
_GAP = 0.04  # fraction of the width, between the source and the text
_ROW = 22, 5  # px per row of keys or values, at most and at least
_MOST = 420  # px of all rows
_LEFT, _TITLES, _LEGEND = 60, 62, 30  # px: numbers of the layers, two titles above the positions, legend
_WIDTH = 600  # px that the figure is laid out for
_GAPS_UP_TO = 64  # maximum positions that are drawn with gaps
_FEW = 32  # maximum steps with a mark each
_STATES = {  # of z = 0 to 3: name and color
    mark("key, cached"): translucent(KEY, 0.35),
    mark("key, new"): KEY,
    mark("value, cached"): translucent(VALUE, 0.35),
    mark("value, new"): VALUE,
}


def kv_cache_grid(
    labels: Sequence[str],
    *,
    n_layers: int,
    n_cached: int,
    source_labels: Sequence[str] = (),
    title: str = mark("Contents of the KV cache"),
) -> go.Figure:
    """Draw a cell for the keys, and one for the values, of each layer and position.

    Args:
        labels: the tokens that the decoder has read, including those of this step.
        n_layers: of the decoder.
        n_cached: how many of them were read at earlier steps, so that their keys and values are cached.
        source_labels: the tokens of the source, whose keys and values are computed at the first step; () without one.
        title: names the figure.

    Returns:
        A figure with the layers from top to bottom, keys above values. Pale cells were cached at an earlier step,
        strong ones are new. There is room for more positions, so that the figure keeps its size while it fills.

    Raises:
        ValueError: more positions are cached than there are.
    """
    if not 0 <= n_cached <= len(labels):
        raise ValueError(f"{n_cached} positions are stored, but there are {len(labels)}; give a label to each of them.")
    n_places = max(_LEAST_ROOM, 1 << max(len(labels) - 1, 0).bit_length())
    parts = [(say("tokens so far (self-attention)"), labels, n_cached, n_places)]
    if source_labels:
        n_stored = len(source_labels) if n_cached else 0
        parts.insert(0, (say("source (cross-attention)"), source_labels, n_stored, len(source_labels)))
    pitch = (1 - _GAP * (len(parts) - 1)) / sum(n for *_, n in parts)  # of the width
    px = (_WIDTH - _LEFT - 8) * pitch
    longest = max((text_width(shorten(label)) for _, tokens, *_ in parts for label in tokens), default=0.0)
    is_slanted = longest > 0.8 * px
    top = _TITLES + (0.75 * longest + 6 if is_slanted else LINE)
    row = min(max(_MOST / (2 * n_layers), _ROW[1]), _ROW[0])
    height = round(top + 2 * n_layers * row + _LEGEND)
    layout = elements.figure_layout(
        say(title), height=height, margin=(_LEFT, 8, top, _LEGEND), legend=elements.LEGEND_BELOW, shapes=[]
    )
    axes: dict[str, tuple[TokenAxis, dict[str, Any]]] = {}
    traces: list[Any] = []
    start = 0.0
    for i, (name, tokens, n_stored, n) in enumerate(parts):
        keys = TokenAxis(kind="key", tokens=tokens, n_cells=len(tokens))
        x = keys.axis(name, room=max(px * len(tokens), 1), apart=LINE + 4 if is_slanted else LINE)
        axes[f"xaxis{i + 1 if i else ''}"] = keys, x
        x = x | {"title": elements.axis_title(name, size=13, standoff=6), "side": "top", "range": [-0.5, n - 0.5]}
        layers = range(0 if i else n_layers)  # labels in the first panel only; each layer has two rows
        y_title = elements.axis_title("" if i else say("layer"), size=13, standoff=6)
        y = elements.label_axis([2 * layer + 0.5 for layer in layers], map(str, layers), pitch=2 * row, title=y_title)
        y |= {"range": [2 * n_layers - 0.5, -0.5]}
        across = (start, start + n * pitch)
        refs = elements.add_panel(layout, i, x | {"tickangle": -45 if is_slanted else 0}, y, across=across, down=(0, 1))
        whole = (-0.5, n - 0.5), (-0.5, 2 * n_layers - 0.5)
        layout["shapes"].append(elements.frame_around(*whole, color=FAINT, width=1, axes=refs))
        traces.append(_cells(name, tokens, n_stored, n_layers, refs))
        start = across[1] + _GAP
    for name, color in _STATES.items():
        square = {"symbol": "square", "size": 11, "color": color, "line": {"width": 0}}
        traces.append(elements.legend_entry(say(name), mode="markers", marker=square, hoverinfo="skip"))
    return elements.figure_of(traces, layout | {"meta": token_legends(**axes)})


def _cells(name: str, tokens: Sequence[str], n_stored: int, n_layers: int, refs: dict[str, str]) -> go.Heatmap:
    n = len(tokens)
    is_new = (np.arange(n) >= n_stored).astype(np.float32)
    z = np.tile(np.stack([is_new, 2 + is_new]), (n_layers, 1))  # keys, and values below them
    colors = list(_STATES.values())
    edges = [(i + end) / len(colors) for i in range(len(colors)) for end in (0, 1)]
    shown = {"hovertemplate": say("position {place}", place="%{x}") + "<extra></extra>"}
    if z.size <= MOST_TEXTS:
        new, cached = (
            say("computed at this step and cached"),
            say("cached at an earlier step; without a cache it would be recomputed"),
        )
        words = [f"{place} '{escape(isolate(token))}'" for place, token in enumerate(tokens)]
        forms = (say("layer {layer}, key of token {token}:"), say("layer {layer}, value of token {token}:"))
        texts = [
            f"{form.format(layer=layer, token=word)}<br>{cached if i < n_stored else new}"
            for layer in range(n_layers)
            for form in forms
            for i, word in enumerate(words)
        ]
        shown = elements.hover(np.array(texts, dtype=object).reshape(z.shape))
    gap = 1 if n <= _GAPS_UP_TO else 0
    return go.Heatmap(
        name=name,
        z=z,
        zmin=-0.5,
        zmax=len(colors) - 0.5,
        colorscale=[(edge, colors[i // 2]) for i, edge in enumerate(edges)],
        showscale=False,
        xgap=gap,
        ygap=gap,
        **refs,
        **shown,
    )


def cost_lines(
    cached: Int[np.ndarray, " step"],
    uncached: Int[np.ndarray, " step"],
    *,
    at: int | None = None,
    title: str = mark("Cost per step"),
) -> go.Figure:
    """Draw the multiply-adds of each step, with a KV cache and without one.

    Args:
        cached: multiply-adds with a cache, by the number of tokens generated before the step.
        uncached: multiply-adds of the same steps if everything is recomputed.
        at: the step to mark; None: none.
        title: names the quantity.
    """
    steps = np.arange(len(cached))
    traces = [
        elements.line_trace(
            name,
            steps,
            costs,
            hue,
            width=2,
            size=5,
            is_marked=len(steps) <= _FEW,
            hovertemplate=say("{name}: {n} multiply-adds", name=name, n="%{y:,}") + "<extra></extra>",
        )
        for name, costs, hue in ((say("without a cache"), uncached, WARM), (say("with the cache"), cached, STRONG))
    ]
    top = int(max(uncached.max(initial=1), cached.max(initial=1)))
    layout = elements.figure_layout(say(title), height=220, margin=(60, 12, 56, 44)) | {
        "hovermode": "x unified",
        "showlegend": True,
        "legend": elements.LEGEND_BELOW | {"y": 1, "yanchor": "bottom"},
        "xaxis": {"title": elements.axis_title(say("tokens generated before"), size=13)}
        | {"range": [-0.5, max(len(steps), _LEAST_ROOM) - 0.5], "tickformat": ",d", "nticks": 9}
        | {"unifiedhovertitle": {"text": f"<b>{say('{n} tokens generated before', n='%{x:,d}')}</b>"}},
        "yaxis": {"title": elements.axis_title(say("multiply-adds"), size=13)}
        | {"range": [0, 1.06 * top], "tickformat": "~s", "nticks": 5, "showgrid": True},
        "shapes": [] if at is None else [elements.line_at(x=at, color=STRONG, width=1.5, dash="dot")],
    }
    return elements.figure_of(traces, layout)
