"""The residual stream through the layers: norms of its vectors, and the relative update of each sub-layer."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from headlight.figures import elements
from headlight.figures.labels import escape, isolate, shorten
from headlight.figures.theme import FAINT, STRONG, WARM, translucent
from headlight.language import localized, percent, say

MOST_LINES = 32  # maximum positions with a line each
_LABEL = 14  # characters of a token
_MIDDLE = (0.1, 0.9)  # lower and upper quantile of the band


def stream_figure(
    sums: Float[np.ndarray, "place pos"],
    added: Float[np.ndarray, "sublayer pos"],
    shares: Float[np.ndarray, "sublayer pos"],
    *,
    places: Sequence[str],
    hues: Sequence[str],
    tokens: Sequence[str],
    title: str,
    read: Float[np.ndarray, "place pos"] | None = None,
    height: int = 470,
) -> go.Figure:
    """Draw the norms of the residual stream, and below them the relative update of each sub-layer.

    Args:
        sums: norm at each position after each place.
        added: norm of the output of each sub-layer, for all places but the first.
        shares: the same, relative to the norm of the stream before it.
        places: names of the places.
        hues: of the sub-layers.
        tokens: the label of every position.
        title: names the quantity, and the stack.
        read: norm of the normalized input of the next sub-layer; None where the stream itself is the input.
        height: px.

    Raises:
        ValueError: there are not as many names and hues as places.
    """
    if len(places) != len(sums) or len(hues) != len(added) or len(added) + 1 != len(sums):
        raise ValueError(
            f"There are {len(sums)} places with {len(places)} names and {len(added)} sub-layers with {len(hues)} hues; "
            "give a name a place, a hue a sub-layer, and one place more than sub-layers."
        )
    traces: list[Any] = _each(sums, tokens, places) if len(tokens) <= MOST_LINES else _band(sums)
    traces.append(_median(sums, places, say("median"), say("{place}: median norm {length}"), STRONG))
    if read is not None:
        words = say("{place}: median norm {length} after normalization")
        traces.append(_median(read, places, say("median after normalization"), words, WARM))
    traces.append(_additions(shares, added, places[1:], hues))
    top = float(np.quantile(shares, _MIDDLE[1], axis=1).max(initial=0.0)) or 1.0
    step = -(-len(places) // 26)
    ends = {"range": [-0.5, len(places) - 0.5]}
    upright = {"showgrid": True, "tickfont": {"size": 11}, "automargin": True}
    layout = elements.figure_layout(title, height=height, margin=(8, 12, 74, 8)) | {
        "hovermode": "closest",
        "showlegend": True,
        "legend": elements.LEGEND_ABOVE,
        "bargap": 0.3,
        "xaxis": ends | {"showticklabels": False, "ticks": "", "anchor": "y"},
        "xaxis2": elements.label_axis(range(0, len(places), step), map(escape, places[::step]), size=11)
        | ends
        | {"matches": "x", "anchor": "y2", "tickangle": -55 if len(places) > 5 else 0, "automargin": True},
        "yaxis": upright
        | {
            "domain": [0.46, 1],
            "rangemode": "tozero",
            "title": elements.axis_title(say("norm of the residual stream")),
        },
        "yaxis2": upright
        | {"domain": [0, 0.36], "anchor": "x2", "range": [0, 1.08 * top], "tickformat": ".0%", "nticks": 4}
        | {"title": elements.axis_title(say("relative update"))},
    }
    return elements.figure_of(traces, layout)


def _each(sums: Float[np.ndarray, "place pos"], tokens: Sequence[str], places: Sequence[str]) -> list[go.Scatter]:
    form = say("{place}: norm {length} at position {position} '{token}'")
    look = {"mode": "lines", "line": {"color": translucent(FAINT, 0.55), "width": 1}, "showlegend": False}
    lines = []
    for position, token in enumerate(tokens):
        at = {"position": position, "token": escape(isolate(shorten(token, _LABEL)))}
        hover_texts = [
            form.format(place=escape(place), length=localized(value, ".3g"), **at)
            for place, value in zip(places, sums[:, position].tolist(), strict=True)
        ]
        lines.append(
            go.Scatter(
                name="position", x=np.arange(len(sums)), y=sums[:, position], **look, **elements.hover(hover_texts)
            )
        )
    return lines


def _band(sums: Float[np.ndarray, "place pos"]) -> list[go.Scatter]:
    low, high = np.quantile(sums, _MIDDLE, axis=1)
    edge = {
        "x": np.arange(len(sums)),
        "mode": "lines",
        "line": {"width": 0, "color": translucent(STRONG, 0)},
        "hoverinfo": "skip",
    }
    filled: dict[str, Any] = {"fill": "tonexty", "fillcolor": translucent(STRONG, 0.18)}
    return [
        go.Scatter(name="low", y=low, showlegend=False, **edge),
        go.Scatter(name=say("10th to 90th percentile"), y=high, **filled, **edge),
    ]


def _median(
    lengths: Float[np.ndarray, "place pos"], places: Sequence[str], name: str, words: str, hue: str
) -> go.Scatter:
    """Return the line of the median over all positions; `words`: hover text with {place} and {length}."""
    median = np.median(lengths, axis=1)
    hover_texts = [
        words.format(place=escape(place), length=localized(value, ".3g"))
        for place, value in zip(places, median.tolist(), strict=True)
    ]
    return elements.line_trace(name, np.arange(len(places)), median, hue, is_marked=True, **elements.hover(hover_texts))


def _additions(
    shares: Float[np.ndarray, "sublayer pos"],
    added: Float[np.ndarray, "sublayer pos"],
    places: Sequence[str],
    hues: Sequence[str],
) -> go.Bar:
    """Return a bar for each sub-layer: the median share, with the two quantiles."""
    middle = np.median(shares, axis=1)
    low, high = np.quantile(shares, _MIDDLE, axis=1)
    form = say("{place} adds a vector of norm {length} (median), {share} of the residual stream’s norm")
    hover_texts = [
        form.format(place=escape(name), length=localized(length, ".3g"), share=percent(share))
        for name, length, share in zip(places, np.median(added, axis=1).tolist(), middle.tolist(), strict=True)
    ]
    spread = {"type": "data", "symmetric": False, "array": high - middle, "arrayminus": middle - low}
    look: dict[str, Any] = {"error_y": spread | {"color": FAINT, "thickness": 1, "width": 3}, "showlegend": False}
    places_of = np.arange(1, len(shares) + 1)
    return elements.bar_trace("added", middle, places_of, hover_texts, color=[*hues], **elements.axis_names(1), **look)
