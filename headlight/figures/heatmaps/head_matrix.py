"""How like each other the heads of two models are, and which were matched."""

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int

from headlight.figures.hues import FAINT, WARM
from headlight.figures.labels import escape
from headlight.figures.layout import axis_title, figure_layout, figure_of, frame_around, hover, label_axis
from headlight.figures.quantities import COLORBAR
from transformer_core.errors import mark
from transformer_core.language import say

_LABELS_UP_TO = 40  # heads a side up to which each is labelled, not each layer


def head_matrix(
    similarity: Float[np.ndarray, "head_a head_b"],
    partners: Int[np.ndarray, " head_a"],
    *,
    n_heads: int,
    names: tuple[str, str] = ("A", "B"),
    title: str = mark("Similarity of heads between two models"),
    height: int = 420,
) -> go.Figure:
    """Draw a cell for each head of A and each of B; a frame marks each matched pair.

    Args:
        similarity: in [0, 1], as `analysis.match_heads` gives it; heads are counted through all layers.
        partners: of each head of A, which head of B it is matched with.
        n_heads: of a layer.
        names: what A and B are, for the axes.
        title: names the quantity.
        height: px.

    Returns:
        A figure whose color range is fixed to [0, 1]; a thin line parts the layers.
    """
    n = len(partners)
    labels = [f"L{layer}.H{head}" for layer, head in (divmod(number, n_heads) for number in range(n))]
    place = say("L{layer}.H{head}")
    words = [place.format(layer=number // n_heads, head=number % n_heads) for number in range(n)]
    matched, same = say(", matched"), say(", same index")
    alike = say("similarity {value}")
    one, other = (escape(name) for name in names)
    hover_texts = [
        [
            f"{one}: {words[a]}<br>{other}: {words[b]}<br>{alike.format(value=f'{value:.2f}')}"
            + (matched if partners[a] == b else "")
            + (same if a == b else "")
            for b, value in enumerate(row)
        ]
        for a, row in enumerate(similarity.tolist())
    ]
    z = similarity.astype(np.float32)
    cells = go.Heatmap(name=say("similarity"), z=z, coloraxis="coloraxis", **hover(hover_texts))
    frames = [
        frame_around((b - 0.5, b + 0.5), (a - 0.5, a + 0.5), color=WARM, width=2)
        for a, b in enumerate(partners.tolist())
    ]
    borders = [
        {"type": "line", "line": {"color": FAINT, "width": 1}} | ends
        for edge in np.arange(n_heads, n, n_heads) - 0.5
        for ends in (
            {"x0": edge, "x1": edge, "y0": -0.5, "y1": n - 0.5},
            {"x0": -0.5, "x1": n - 0.5, "y0": edge, "y1": edge},
        )
    ]
    places = range(0, n, 1 if n <= _LABELS_UP_TO else n_heads)
    axis = label_axis(places, [labels[place] for place in places], size=11, constrain="domain")
    named = [axis_title(f"<b>{name}</b>: {say('heads')}", size=13, standoff=6) for name in (one, other)]
    layout = figure_layout(say(title), height=height, margin=(8, 8, 72, 8)) | {
        "xaxis": axis
        | {"side": "top", "range": [-0.5, n - 0.5], "title": named[1]}
        | {"tickangle": 0 if len(places) <= 12 else -90},
        "yaxis": axis | {"range": [n - 0.5, -0.5], "title": named[0], "automargin": True, "scaleanchor": "x"},
        "coloraxis": {"cmin": 0, "cmax": 1, "colorbar": COLORBAR},
        "shapes": borders + frames,
    }
    return figure_of([cells], layout)
