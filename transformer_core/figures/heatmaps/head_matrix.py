"""How like each other the heads of two models are, and which were matched."""

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int

from transformer_core.errors import mark
from transformer_core.figures.heatmaps.attention import COLORBAR, escape
from transformer_core.figures.hues import FAINT, WARM
from transformer_core.figures.theme import LIGHT, Theme, template
from transformer_core.language import say

_LABELS_UP_TO = 40  # heads a side up to which each is labelled, not each layer


def head_matrix(
    similarity: Float[np.ndarray, "head_a head_b"],
    partners: Int[np.ndarray, " head_a"],
    *,
    n_heads: int,
    names: tuple[str, str] = ("A", "B"),
    title: str = mark("How alike the heads of two models are"),
    theme: Theme = LIGHT,
    height: int = 420,
) -> go.Figure:
    """Draw a cell for each head of A and each of B; a frame marks each matched pair.

    Args:
        similarity: in [0, 1], as `analysis.match_heads` gives it; heads are counted through all layers.
        partners: of each head of A, which head of B it is matched with.
        n_heads: of a layer.
        names: what A and B are, for the axes.
        title: names the quantity.
        theme: light or dark.
        height: px.

    Returns:
        A figure whose color range is fixed to [0, 1]; a thin line parts the layers.
    """
    n = len(partners)
    labels = [f"{layer}.{head}" for layer, head in (divmod(number, n_heads) for number in range(n))]
    place = say("layer {layer}, head {head}")
    words = [place.format(layer=number // n_heads, head=number % n_heads) for number in range(n)]
    matched, same = say(", matched"), say(", same number")
    alike = say("similarity {value}")
    one, other = (escape(name) for name in names)
    hover = [
        [
            f"{one}: {words[a]}<br>{other}: {words[b]}<br>{alike.format(value=f'{value:.2f}')}"
            + (matched if partners[a] == b else "")
            + (same if a == b else "")
            for b, value in enumerate(row)
        ]
        for a, row in enumerate(similarity.tolist())
    ]
    traces = [
        go.Heatmap(
            name=say("similarity"),
            z=similarity.astype(np.float32),
            coloraxis="coloraxis",
            customdata=hover,
            hovertemplate="%{customdata}<extra></extra>",
        )
    ]
    frame = {"type": "rect", "line": {"color": WARM, "width": 2}}
    frames = [
        frame | {"x0": b - 0.5, "x1": b + 0.5, "y0": a - 0.5, "y1": a + 0.5} for a, b in enumerate(partners.tolist())
    ]
    borders = [
        {"type": "line", "line": {"color": FAINT, "width": 1}} | ends
        for edge in np.arange(n_heads, n, n_heads) - 0.5
        for ends in (
            {"x0": edge, "x1": edge, "y0": -0.5, "y1": n - 0.5},
            {"x0": -0.5, "x1": n - 0.5, "y0": edge, "y1": edge},
        )
    ]
    positions = list(range(n)) if n <= _LABELS_UP_TO else list(range(0, n, n_heads))
    axis = {
        "tickmode": "array",
        "tickvals": positions,
        "ticktext": [labels[position] for position in positions],
        "tickfont": {"size": 11},
        "ticks": "",
        "constrain": "domain",
    }
    layout = {
        "template": template(theme),
        "title": {
            "text": escape(say(title)),
            "x": 0,
            "xref": "container",
            "y": 1,
            "yref": "container",
            "yanchor": "top",
        }
        | {"pad": {"t": 4, "l": 2}},
        "height": height,
        "margin": {"l": 8, "r": 8, "t": 72, "b": 8},
        "xaxis": axis
        | {"side": "top", "range": [-0.5, n - 0.5], "title": _axis_title(other)}
        | {"tickangle": 0 if len(positions) <= 12 else -90},
        "yaxis": axis | {"range": [n - 0.5, -0.5], "title": _axis_title(one), "automargin": True, "scaleanchor": "x"},
        "coloraxis": {"cmin": 0, "cmax": 1, "colorbar": COLORBAR},
        "shapes": borders + frames,
    }
    return go.Figure(data=traces, layout=layout)


def _axis_title(name: str) -> dict[str, object]:
    """Return the title of an axis of heads."""
    return {"text": f"<b>{name}</b>: {say('layer.head')}", "font": {"size": 13}, "standoff": 6}
