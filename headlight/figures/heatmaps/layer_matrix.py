"""How alike the layers of two models are, or those of one."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from headlight.figures.heatmaps.cells import NUMBERS_UP_TO
from headlight.figures.heatmaps.numbers import Scale, number_heatmap, numbers_in_cells
from headlight.figures.labels import LINE, escape, text_width
from headlight.figures.layout import axis_title, figure_layout, figure_of, label_axis
from headlight.figures.quantities import COLORBAR
from transformer_core.errors import mark
from transformer_core.language import say

_TITLE, _RIGHT, _LABELS = 24, 60, 60  # px: a line of a title, the bar of colors, the labels of the rows
_NUMBER = 30  # px that a number in a cell takes
_SCALE = Scale(low=0, high=1)


def layer_matrix(
    similarity: Float[np.ndarray, "layer_a layer_b"],
    *,
    names: tuple[str, str] = ("A", "B"),
    labels: tuple[Sequence[str], Sequence[str]] | None = None,
    what: str = "CKA",
    title: str = mark("Layer similarity (CKA)"),
    width: int = 480,
    height: int = 420,
) -> go.Figure:
    """Draw a cell for each layer of A and each of B.

    Args:
        similarity: in [0, 1], as centered kernel alignment is; NaN where it is not defined.
        names: what A and B are, for the axes and the hover texts.
        labels: what the rows and the columns are called; None: "layer 0" and so on in words, and numbers on the axes.
        what: the name of the similarity in the hover texts.
        title: names the quantity.
        width: px that the figure is laid out for; it takes the width that it is given.
        height: px.

    Returns:
        A figure over integer positions, the first layer at the top and on the left, its color range fixed to [0, 1].

    Raises:
        ValueError: the labels do not fit.

    Source: Kornblith et al. 2019, "Similarity of Neural Network Representations Revisited", sec. 3.
    """
    if labels is not None and (len(labels[0]), len(labels[1])) != similarity.shape:
        raise ValueError(
            f"There are {similarity.shape[0]} rows and {similarity.shape[1]} columns, but {len(labels[0])} and "
            f"{len(labels[1])} labels; give one label each."
        )
    ticks = labels or tuple([str(layer) for layer in range(n)] for n in similarity.shape)
    spoken = [
        [f"{escape(name)}, {escape(label) if labels else say('layer {layer}', layer=label)}" for label in side]
        for name, side in zip(names, ticks, strict=True)
    ]
    undefined = say("{what} is undefined", what=escape(what))
    hover_texts = [
        [
            f"{a}<br>{b}<br>" + (undefined if np.isnan(value) else f"{escape(what)} {value:.2f}")
            for b, value in zip(spoken[1], row, strict=True)
        ]
        for a, row in zip(spoken[0], similarity.tolist(), strict=True)
    ]
    traces: list[Any] = [
        number_heatmap(similarity, hover_texts, name=say("similarity"), axis="coloraxis", xgap=1, ygap=1)
    ]
    if max(similarity.shape) <= NUMBERS_UP_TO:
        traces += numbers_in_cells(similarity, _SCALE, write=lambda value: f"{value:.2f}".removeprefix("0"))
    n_rows, n_columns = similarity.shape
    subject = "" if labels else f": {say('layer')}"
    down = _axis(ticks[0], f"<b>{escape(names[0])}</b>{subject}", (height - 3 * _TITLE) / max(n_rows, 1))
    pitch = (width - _RIGHT - _LABELS) / max(n_columns, 1)
    across = _axis(ticks[1], f"<b>{escape(names[1])}</b>{subject}", pitch)
    longest = max(map(text_width, ticks[1]), default=0.0)
    is_slanted = longest > 0.8 * pitch and labels is not None
    top = 2 * _TITLE + (longest / math.sqrt(2) + 8 if is_slanted else LINE)
    layout = figure_layout(say(title), height=height, margin=(8, 8, top, 8)) | {
        "meta": {"textFromWidth": _LABELS + _RIGHT + _NUMBER * n_columns},
        "xaxis": across | {"side": "top", "range": [-0.5, n_columns - 0.5], "tickangle": -45 if is_slanted else 0},
        "yaxis": down | {"range": [n_rows - 0.5, -0.5], "automargin": True},
        "coloraxis": {"cmin": 0, "cmax": 1, "colorbar": COLORBAR},
    }
    return figure_of(traces, layout)


def _axis(labels: Sequence[str], title: str, pitch: float) -> dict[str, Any]:
    """Return an axis of layers, thinned out where `pitch`, px from one to the next, is too small."""
    places = range(0, len(labels), max(1, -(-LINE // max(int(pitch), 1))))
    named = axis_title(title, size=13, standoff=6)
    return label_axis(places, [escape(labels[place]) for place in places], size=12, title=named)
