"""Similarity of two models: of their heads, with the matched pairs, and of their layers."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int

from headlight.figures import elements
from headlight.figures.heatmaps.cells import NUMBERS_UP_TO
from headlight.figures.heatmaps.number_panels import Scale, cell_texts, number_cells
from headlight.figures.labels import LINE, escape, text_width
from headlight.figures.quantities import COLORBAR
from headlight.figures.theme import FAINT, WARM
from headlight.language import localized, say
from transformer_core.errors import mark

_LABELS_UP_TO = 40  # maximum heads per side that are all labelled; beyond, only the first of each layer
_TITLE, _RIGHT, _LABELS = 24, 60, 60  # px: a line of a title, the bar of colors, the labels of the rows
_NUMBER = 30  # px of a number in a cell
_COLORS = {"coloraxis": {"cmin": 0, "cmax": 1, "colorbar": COLORBAR}}


def head_matrix(
    similarity: Float[np.ndarray, "head_a head_b"],
    partners: Int[np.ndarray, " head_a"],
    *,
    n_heads: int,
    names: tuple[str, str] = ("A", "B"),
    title: str = mark("Similarity of heads between two models"),
) -> go.Figure:
    """Draw a cell for each head of A and each of B; a frame marks each matched pair.

    Args:
        similarity: in [0, 1], as `analysis.match_heads` gives it; heads are numbered through all layers.
        partners: the head of B that each head of A is matched with.
        n_heads: per layer.
        names: of A and B, for the axes.
        title: names the quantity.

    Returns:
        A figure with the color range [0, 1] and thin lines between the layers.
    """
    n = len(partners)
    heads = [divmod(number, n_heads) for number in range(n)]
    place = say("L{layer}.H{head}")
    words = [place.format(layer=layer, head=head) for layer, head in heads]
    matched, same, form = say(", matched"), say(", same index"), say("similarity {value}")
    one, other = (escape(name) for name in names)

    def write(a: int, b: int, value: float) -> str:
        text = f"{one}: {words[a]}<br>{other}: {words[b]}<br>{form.format(value=localized(value, '.2f'))}"
        return text + (matched if partners[a] == b else "") + (same if a == b else "")

    hover_texts = cell_texts(similarity, range(n), range(n), write)
    z = similarity.astype(np.float32)
    cells = go.Heatmap(name=say("similarity"), z=z, coloraxis="coloraxis", **elements.hover(hover_texts))
    frames = [elements.cell_frame(a, b, color=WARM, width=2) for a, b in enumerate(partners.tolist())]
    whole = (-0.5, n - 0.5)
    borders = [
        elements.segment(across, down, color=FAINT, width=1)
        for edge in np.arange(n_heads, n, n_heads) - 0.5
        for across, down in (((edge, edge), whole), (whole, (edge, edge)))
    ]
    places = range(0, n, 1 if n <= _LABELS_UP_TO else n_heads)
    labels = ["L{}.H{}".format(*heads[place]) for place in places]
    axis = elements.label_axis(places, labels, size=11, constrain="domain")
    titles = [elements.axis_title(f"<b>{name}</b>: {say('heads')}", size=13, standoff=6) for name in (one, other)]
    layout = elements.figure_layout(say(title), height=420, margin=(8, 8, 72, 8)) | {
        "xaxis": elements.cell_axis(n, **axis, title=titles[1], tickangle=0 if len(places) <= 12 else -90),
        "yaxis": elements.cell_axis(n, is_down=True, **axis, title=titles[0], automargin=True, scaleanchor="x"),
        "shapes": borders + frames,
    }
    return elements.figure_of([cells], layout | _COLORS)


def layer_matrix(
    similarity: Float[np.ndarray, "layer_a layer_b"],
    *,
    names: tuple[str, str] = ("A", "B"),
    labels: tuple[Sequence[str], Sequence[str]] | None = None,
    title: str = mark("Layer similarity (CKA)"),
    height: int = 420,
) -> go.Figure:
    """Draw a cell for each layer of A and each of B.

    Args:
        similarity: centered kernel alignment in [0, 1]; NaN where undefined.
        names: of A and B, for the axes and the hover texts.
        labels: of the rows and the columns; None: the numbers of the layers.
        title: names the quantity.
        height: px.

    Returns:
        A figure over integer positions, the first layer at the top left, with the color range [0, 1].

    Raises:
        ValueError: the labels do not fit.

    Source: Kornblith et al. 2019, "Similarity of Neural Network Representations Revisited", sec. 3.
    """
    if labels is not None and (len(labels[0]), len(labels[1])) != similarity.shape:
        raise ValueError(
            f"There are {similarity.shape[0]} rows and {similarity.shape[1]} columns, but {len(labels[0])} and "
            f"{len(labels[1])} labels; give one label each."
        )
    n_rows, n_columns = similarity.shape
    ticks = labels or tuple([str(layer) for layer in range(n)] for n in similarity.shape)
    rows, columns = (
        [f"{escape(name)}, {escape(label) if labels else say('layer {layer}', layer=label)}" for label in side]
        for name, side in zip(names, ticks, strict=True)
    )
    undefined = say("{what} is undefined", what="CKA")

    def words(a: str, b: str, value: float) -> str:
        return f"{a}<br>{b}<br>" + (undefined if np.isnan(value) else f"CKA {localized(value, '.2f')}")

    traces = number_cells(
        similarity,
        Scale(low=0, high=1),
        cell_texts(similarity, rows, columns, words),
        name=say("similarity"),
        write=lambda value: localized(value, ".2f").removeprefix("0"),
        is_written=max(similarity.shape) <= NUMBERS_UP_TO,
        gap=1,
    )
    subject = "" if labels else f": {say('layer')}"
    down = _axis(ticks[0], f"<b>{escape(names[0])}</b>{subject}", (height - 3 * _TITLE) / max(n_rows, 1))
    pitch = (480 - _RIGHT - _LABELS) / max(n_columns, 1)
    across = _axis(ticks[1], f"<b>{escape(names[1])}</b>{subject}", pitch)
    longest = max(map(text_width, ticks[1]), default=0.0)
    is_slanted = longest > 0.8 * pitch and labels is not None
    top = 2 * _TITLE + (longest / math.sqrt(2) + 8 if is_slanted else LINE)
    layout = elements.figure_layout(say(title), height=height, margin=(8, 8, top, 8)) | {
        "meta": {"textFromWidth": _LABELS + _RIGHT + _NUMBER * n_columns},
        "xaxis": elements.cell_axis(n_columns, **across, tickangle=-45 if is_slanted else 0),
        "yaxis": elements.cell_axis(n_rows, is_down=True, **down, automargin=True),
    }
    return elements.figure_of(traces, layout | _COLORS)


def _axis(labels: Sequence[str], title: str, pitch: float) -> dict[str, Any]:
    titled = elements.axis_title(title, size=13, standoff=6)
    return elements.label_axis(range(len(labels)), map(escape, labels), size=12, pitch=pitch, title=titled)
