"""The residual stream through the layers: how long its vectors are, and how much each sub-layer adds to them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from transformer_core.figures.hues import FAINT, STRONG, WARM, translucent
from transformer_core.figures.labels import escape, heading, isolate, shorten
from transformer_core.figures.theme import LIGHT, Theme, template
from transformer_core.language import say

MOST_LINES = 32  # positions up to which each has a line of its own
_LABEL = 14  # characters of a token
_MIDDLE = (0.1, 0.9)  # quantiles that the band lies between


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
    theme: Theme = LIGHT,
    height: int = 470,
) -> go.Figure:
    """Draw the lengths of the stream's vectors, and below them what each sub-layer adds, as a part of what was there.

    Args:
        sums: length of each position's vector after each place.
        added: length of what each sub-layer added; of all places but the first.
        shares: the same, as a part of the length of what it was added to.
        places: what the places are called.
        hues: of the sub-layers.
        tokens: the label of every position.
        title: names the quantity, and the stack.
        read: length of what the next sub-layer is given, where that is another vector: normalized.
        theme: light or dark.
        height: px.

    Raises:
        ValueError: there are not as many names and hues as places.
    """
    if len(places) != len(sums) or len(hues) != len(added) or len(added) + 1 != len(sums):
        raise ValueError(
            f"There are {len(sums)} places with {len(places)} names and {len(added)} sub-layers with {len(hues)} hues; "
            "give a name a place, a hue a sub-layer, and one place more than sub-layers."
        )
    x = np.arange(len(places))
    median = np.median(sums, axis=1)
    traces: list[Any] = _each(sums, tokens, places) if len(tokens) <= MOST_LINES else _band(sums)
    told = [
        say("{place}: median length {length}", place=escape(name), length=f"{value:.3g}")
        for name, value in zip(places, median.tolist(), strict=True)
    ]
    traces.append(_line(x, median, say("median"), STRONG, told))
    if read is not None:
        middle = np.median(read, axis=1)
        words = [
            say("{place}: median length {length} once normalized", place=escape(name), length=f"{value:.3g}")
            for name, value in zip(places, middle.tolist(), strict=True)
        ]
        traces.append(_line(x, middle, say("median once normalized"), WARM, words))
    traces.append(_additions(shares, added, places[1:], hues))
    top = float(np.quantile(shares, _MIDDLE[1], axis=1).max(initial=0.0)) or 1.0
    step = -(-len(places) // 26)
    layout = {
        "template": template(theme),
        "title": heading(title),
        "height": height,
        "margin": {"l": 8, "r": 12, "t": 74, "b": 8},
        "hovermode": "closest",
        "showlegend": True,
        "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": 1, "yanchor": "bottom", "font": {"size": 12}},
        "bargap": 0.3,
        "xaxis": {"range": [-0.5, len(places) - 0.5], "showticklabels": False, "ticks": "", "anchor": "y"},
        "xaxis2": {
            "range": [-0.5, len(places) - 0.5],
            "matches": "x",
            "anchor": "y2",
            "tickmode": "array",
            "tickvals": x[::step].tolist(),
            "ticktext": [escape(name) for name in places[::step]],
            "tickangle": -55 if len(places) > 5 else 0,
            "tickfont": {"size": 11},
            "automargin": True,
            "ticks": "",
        },
        "yaxis": {
            "domain": [0.46, 1],
            "rangemode": "tozero",
            "showgrid": True,
            "title": {"text": say("length of the stream"), "standoff": 4, "font": {"size": 12}},
            "tickfont": {"size": 11},
            "automargin": True,
        },
        "yaxis2": {
            "domain": [0, 0.36],
            "anchor": "x2",
            "range": [0, 1.08 * top],
            "tickformat": ".0%",
            "showgrid": True,
            "nticks": 4,
            "title": {"text": say("added to it"), "standoff": 4, "font": {"size": 12}},
            "tickfont": {"size": 11},
            "automargin": True,
        },
    }
    return go.Figure(data=traces, layout=layout)


def _each(sums: Float[np.ndarray, "place pos"], tokens: Sequence[str], places: Sequence[str]) -> list[go.Scatter]:
    """Return a thin line for each position."""
    return [
        go.Scatter(
            name="position",
            x=np.arange(len(sums)),
            y=sums[:, position],
            mode="lines",
            line={"color": translucent(FAINT, 0.55), "width": 1},
            customdata=[
                say(
                    "{place}: length {length} at position {position} '{token}'",
                    place=escape(place),
                    length=f"{value:.3g}",
                    position=position,
                    token=escape(isolate(shorten(token, _LABEL))),
                )
                for place, value in zip(places, sums[:, position].tolist(), strict=True)
            ],
            hovertemplate="%{customdata}<extra></extra>",
            showlegend=False,
        )
        for position, token in enumerate(tokens)
    ]


def _band(sums: Float[np.ndarray, "place pos"]) -> list[go.Scatter]:
    """Return the band that most positions lie in."""
    low, high = np.quantile(sums, _MIDDLE, axis=1)
    x = np.arange(len(sums))
    edge = {"mode": "lines", "line": {"width": 0, "color": translucent(STRONG, 0)}, "hoverinfo": "skip"}
    return [
        go.Scatter(name="low", x=x, y=low, showlegend=False, **edge),
        go.Scatter(
            name=say("eight of ten positions"), x=x, y=high, fill="tonexty", fillcolor=translucent(STRONG, 0.18), **edge
        ),
    ]


def _line(x: np.ndarray, values: Float[np.ndarray, " place"], name: str, hue: str, told: Sequence[str]) -> go.Scatter:
    """Return the line of a median."""
    return go.Scatter(
        name=name,
        x=x,
        y=values,
        mode="lines+markers",
        line={"color": hue, "width": 2.5},
        marker={"color": hue, "size": 6},
        customdata=[*told],
        hovertemplate="%{customdata}<extra></extra>",
    )


def _additions(
    shares: Float[np.ndarray, "sublayer pos"],
    added: Float[np.ndarray, "sublayer pos"],
    places: Sequence[str],
    hues: Sequence[str],
) -> go.Bar:
    """Return a bar for each sub-layer: the median share, and where most positions lie."""
    middle = np.median(shares, axis=1)
    low, high = np.quantile(shares, _MIDDLE, axis=1)
    return go.Bar(
        name="added",
        x=np.arange(1, len(shares) + 1),
        y=middle,
        marker={"color": [*hues], "line": {"width": 0}},
        error_y={"type": "data", "symmetric": False, "array": high - middle, "arrayminus": middle - low}
        | {"color": FAINT, "thickness": 1, "width": 3},
        customdata=[
            say(
                "{place} adds a vector of length {length} (median): {share} of what it is added to",
                place=escape(name),
                length=f"{length:.3g}",
                share=f"{share:.0%}",
            )
            for name, length, share in zip(places, np.median(added, axis=1).tolist(), middle.tolist(), strict=True)
        ],
        hovertemplate="%{customdata}<extra></extra>",
        showlegend=False,
        xaxis="x2",
        yaxis="y2",
    )
