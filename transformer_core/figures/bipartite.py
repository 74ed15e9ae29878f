"""A pattern as lines: queries on the left, keys on the right, and a line for each weight."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float

from transformer_core.figures.categories import category_hues
from transformer_core.figures.labels import escape, heading, shorten
from transformer_core.figures.theme import KEY, LIGHT, QUERY, Theme, template
from transformer_core.language import mark, say

_ROW = 19  # px from one token to the next
_LABEL_LENGTH = 24  # characters of a token
_TOP, _LEGEND, _BOTTOM = 54, 24, 12  # px: the title and the names of the two sides, the names of the heads, below
_OPACITIES = 10  # steps from the faintest to the strongest line of a head
_WIDEST = 3.5  # px: the width of a line of weight 1


def bipartite_lines(
    patterns: Sequence[Float[np.ndarray, "query key"]],
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    *,
    names: Sequence[str] = (),
    hues: Sequence[str] | None = None,
    at_least: float = 0.02,
    chosen: tuple[int | None, int | None] = (None, None),
    first_query: int = 0,
    first_key: int = 0,
    title: str = mark("Attention pattern, as lines"),
    query_name: str = mark("query"),
    key_name: str = mark("key"),
    theme: Theme = LIGHT,
) -> go.Figure:
    """Draw a line from each query to each key that it looks at: the stronger, the more attention.

    A still picture, for paper and slides: it has no hover texts, and it is as high as the longer text needs.

    Args:
        patterns: one or several heads' attention weights in [0, 1], of the same text.
        query_tokens: the labels of the left side, from top to bottom.
        key_tokens: the labels of the right side.
        names: of the heads, for the legend; as many as patterns, or none.
        hues: of the heads, "#RRGGBB"; None: hues that are told apart.
        at_least: weights below this are not drawn.
        chosen: a query and a key, as places in the whole text; only the lines of these are drawn. None: those of all.
        first_query: the place of the first query in the whole text, where the figure is a window of it.
        first_key: that of the first key.
        title: names the quantity, and the head.
        query_name: what the left side is.
        key_name: what the right side is.
        theme: light or dark.

    Returns:
        A figure of at most 11 traces a head, as lines of nearly the same weight share one.

    Raises:
        ValueError: the labels, the names or the hues do not fit the patterns.

    Source: Vig 2019, "A Multiscale Visualization of Attention in the Transformer Model", sec. 3.1.
    """
    shape = len(query_tokens), len(key_tokens)
    if not patterns or any(pattern.shape != shape for pattern in patterns):
        raise ValueError(
            f"There are {shape[0]} query labels and {shape[1]} key labels, and the patterns are "
            f"{', '.join(f'{n} x {m}' for n, m in (pattern.shape for pattern in patterns)) or 'none'}; "
            "give one pattern at least, and labels for all."
        )
    hues = category_hues(len(patterns)) if hues is None else hues
    if len(hues) != len(patterns) or len(names) not in (0, len(patterns)):
        raise ValueError(
            f"There are {len(patterns)} patterns, {len(names)} names and {len(hues)} hues; give one each, or none."
        )
    query, key = chosen
    is_drawn = _meant(shape[0], first_query, query)[:, None] & _meant(shape[1], first_key, key)
    traces: list[Any] = [
        trace
        for pattern, hue in zip(patterns, hues, strict=True)
        for trace in _lines(np.where(is_drawn, pattern, 0), hue, at_least)
    ]
    traces.sort(key=lambda trace: trace.opacity)  # strong lines lie above faint ones, of whichever head
    traces += [
        go.Scatter(
            name=escape(name), x=[None], y=[None], mode="lines", line={"color": hue, "width": 3}, showlegend=True
        )
        for name, hue in zip(names, hues, strict=False)
    ]
    traces.append(go.Scatter(x=[None], y=[None], yaxis="y2", showlegend=False))  # plotly leaves out an axis of nothing
    top = _TOP + (_LEGEND if names else 0)
    ends = [max(shape) - 0.5, -0.5]
    layout = {
        "template": template(theme),
        "title": heading(say(title)),
        "height": top + _ROW * max(shape) + _BOTTOM,
        "margin": {"l": 8, "r": 8, "t": top, "b": _BOTTOM},
        "hovermode": False,
        "showlegend": bool(names),
        "legend": {
            "orientation": "h",
            "x": 0.5,
            "xanchor": "center",
            "y": 1,
            "yanchor": "bottom",
            "font": {"size": 12},
        },
        "xaxis": {"range": [0, 1], "visible": False, "fixedrange": True},
        "yaxis": _side(query_tokens, query, first_query) | {"range": ends},
        "yaxis2": _side(key_tokens, key, first_key) | {"range": ends, "side": "right", "overlaying": "y"},
        "annotations": [
            _SIDE_NAME
            | {"x": x, "xanchor": anchor, "text": f"<b>{escape(say(name))}</b>", "font": {"color": hue, "size": 13}}
            for x, anchor, name, hue in ((0, "right", query_name, QUERY), (1, "left", key_name, KEY))
        ],
    }
    return go.Figure(data=traces, layout=layout)


def _meant(n: int, first: int, place: int | None) -> Bool[np.ndarray, " pos"]:
    """Return which of some neighbouring places is the chosen one; all where none is chosen."""
    return np.ones(n, dtype=bool) if place is None else np.arange(first, first + n) == place


def _lines(pattern: Float[np.ndarray, "query key"], hue: str, at_least: float) -> list[go.Scatter]:
    """Return one head's lines; those of nearly the same weight are one trace, with gaps."""
    queries, keys = np.nonzero(pattern >= max(at_least, 1e-9))
    weights = pattern[queries, keys]
    steps = np.minimum((weights * _OPACITIES).astype(int), _OPACITIES - 1)
    traces = []
    for step in np.unique(steps).tolist():
        here = steps == step
        weight = float(weights[here].mean())
        gap = np.full(int(here.sum()), np.nan)
        traces.append(
            go.Scatter(
                x=np.stack([np.zeros_like(gap), np.ones_like(gap), gap], axis=1).ravel(),
                y=np.stack([queries[here], keys[here], gap], axis=1).ravel(),
                mode="lines",
                line={"color": hue, "width": 1 + (_WIDEST - 1) * weight},
                opacity=weight**0.7,  # in proportion, lines of 0.05 could not be seen
                showlegend=False,
            )
        )
    return traces


def _side(tokens: Sequence[str], chosen: int | None, first: int) -> dict[str, Any]:
    """Return an axis of tokens, each of them labelled; the chosen one is bold."""
    labels = [escape(shorten(token, _LABEL_LENGTH)) for token in tokens]
    return {
        "tickmode": "array",
        "tickvals": list(range(len(tokens))),
        "ticktext": [f"<b>{label}</b>" if first + i == chosen else label for i, label in enumerate(labels)],
        "tickfont": {"size": 13},
        "ticks": "",
        "ticklabelstandoff": 4,
        "automargin": True,
        "fixedrange": True,
    }


_SIDE_NAME = {"xref": "paper", "yref": "paper", "y": 1, "yanchor": "bottom", "showarrow": False}
