"""A pattern as lines: queries on the left, keys on the right, and a curve for each weight."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from headlight.figures.elements import border_lines, figure_layout, figure_of, label_axis, legend_entry, note
from headlight.figures.labels import escape, shorten, text_width
from headlight.figures.theme import KEY, QUERY, category_hues
from headlight.figures.token_grid import TokenGrid
from headlight.language import localized, say
from transformer_core.errors import mark

LEAST = 0.005  # smaller weights round to 0.00 and are not drawn
_ROW = 19  # px from one token to the next
_LABEL_LENGTH = 24  # characters of a token
_TOP, _LEGEND, _BOTTOM = 54, 24, 12  # px: the title and the names of the two sides, the names of the heads, below
_NUMBER = 34  # px: the width of a written weight
_MOST_NUMBERS = 3  # maximum weights beside a token; with more heads, only the largest is written
_MOST_CURVES = 4000  # beyond this, only the strongest are drawn
_STEPS = 24  # levels of opacity
_EXPONENT = 1 / 1.3  # as in the color scale: weights of 0.05 are common, and must be seen beside one of 0.9
_THIN, _THICK = 1.1, 3.0  # px: the width of the faintest curve, and of one of weight 1


def bipartite_lines(
    patterns: Sequence[Float[np.ndarray, "query key"]],
    grid: TokenGrid,
    *,
    names: Sequence[str] = (),
    title: str = mark("Attention as lines"),
) -> go.Figure:
    """Draw a curve from each query on the left to each key that it attends to: the stronger, the more attention.

    A static picture for papers and slides of what `curves.js` draws on the page: it has no hover texts, and its height
    is that of the longer text.

    Args:
        patterns: attention weights in [0, 1] of one or several heads, on the same text.
        grid: tokens and names. Of a marked query, or else a marked key, only its curves are drawn, and its weights are
            written beside the tokens of the other side.
        names: of the heads, for the legend; one per pattern, or none.
        title: names the quantity, and the head.

    Returns:
        A figure of at most 24 shapes per head, since curves of nearly equal weight share one.

    Raises:
        ValueError: the labels or the names do not fit the patterns.

    Source: Vig 2019, "A Multiscale Visualization of Attention in the Transformer Model", sec. 3.1.
    """
    if not patterns or len(names) not in (0, len(patterns)):
        raise ValueError(
            f"There are {len(patterns)} patterns and {len(names)} names; give at least one, and each a name."
        )
    for pattern in patterns:
        sides = grid.axes(pattern.shape)
    shape, hues = patterns[0].shape, category_hues(len(patterns))
    query, key = (
        None if place is None or not 0 <= place - axis.first < axis.n_cells else place - axis.first
        for place, axis in zip(grid.marked, sides, strict=True)
    )
    is_drawn = np.ones(shape, dtype=bool)
    if query is not None:
        is_drawn, key = is_drawn & (np.arange(shape[0]) == query)[:, None], None
    elif key is not None:
        is_drawn = is_drawn & (np.arange(shape[1]) == key)
    drawn = np.where(is_drawn, np.stack(patterns).astype(np.float64), 0)
    left = _labels(grid.query_tokens, query, _weights(drawn[:, :, key], hues) if key is not None else None)
    right = _labels(grid.key_tokens, key, _weights(drawn[:, query], hues) if query is not None else None)
    numbers = _NUMBER * min(len(patterns), _MOST_NUMBERS)
    left_margin, right_margin = (
        12 + max(text_width(shorten(token, _LABEL_LENGTH)) for token in tokens) + (0 if other is None else numbers)
        for tokens, other in ((grid.query_tokens, key), (grid.key_tokens, query))
    )
    traces = [
        legend_entry(escape(name), mode="lines", line={"color": hue, "width": 3})
        for name, hue in zip(names, hues, strict=False)
    ]
    nothing = {"x": [None], "y": [None]}  # plotly draws no axes without a trace
    traces += [go.Scatter(yaxis=axis, showlegend=False, **nothing) for axis in ("y", "y2")]
    bottom = _BOTTOM + (_LEGEND if names else 0)
    ends = [max(shape) - 0.5, -0.5]
    ends_of = ((0, "left", 4 - left_margin, grid.query_name, QUERY), (1, "right", right_margin - 4, grid.key_name, KEY))
    notes = [
        note(f"<b>{escape(say(name))}</b>", x=x, xshift=shift, y=1, anchor=(anchor, "bottom"))
        | {"font": {"color": hue, "size": 13}}
        for x, anchor, shift, name, hue in ends_of
    ]
    height = _TOP + _ROW * max(shape) + bottom
    layout = figure_layout(say(title), height=height, margin=(left_margin, right_margin, _TOP, bottom)) | {
        "hovermode": False,
        "showlegend": bool(names),
        "legend": {"orientation": "h", "x": 0.5, "xanchor": "center", "y": 0, "yanchor": "top", "font": {"size": 12}},
        "shapes": [*border_lines(grid.query_tokens, ()), *_curves(drawn, hues)],
        "xaxis": {"range": [0, 1], "visible": False, "fixedrange": True},
        "yaxis": left | {"range": ends},
        "yaxis2": right | {"range": ends, "side": "right", "overlaying": "y"},
        "annotations": notes,
    }
    return figure_of(traces, layout)


def _curves(patterns: Float[np.ndarray, "head query key"], hues: Sequence[str]) -> list[dict[str, Any]]:
    """Return a shape for the curves of each head and step of opacity, the strongest last: on top."""
    heads, queries, keys = np.nonzero(patterns >= LEAST)
    weights = patterns[heads, queries, keys]
    strongest = np.argsort(-weights, kind="stable")[:_MOST_CURVES]
    paths: dict[tuple[int, int], list[str]] = {}
    places = np.stack([heads, queries, keys], axis=1)[strongest].tolist()
    for (head, query, key), weight in zip(places, weights[strongest].tolist(), strict=True):
        step = min(int(weight**_EXPONENT * _STEPS), _STEPS - 1)
        paths.setdefault((step, head), []).append(f"M0,{query}C0.5,{query},0.5,{key},1,{key}")
    shapes = []
    for (step, head), segments in sorted(paths.items()):
        opacity = (step + 0.5) / _STEPS
        width = _THIN + (_THICK - _THIN) * opacity ** (1 / _EXPONENT)
        line = {"color": hues[head], "width": width}
        shapes.append({"type": "path", "path": "".join(segments), "line": line, "opacity": opacity})
    return shapes


def _weights(weights: Float[np.ndarray, "head token"], hues: Sequence[str]) -> list[str]:
    """Return the text beside each token: the weight of each head, or only the largest if there are many."""
    written = []
    for column in weights.T:
        heads = range(len(column)) if len(column) <= _MOST_NUMBERS else [int(column.argmax())]
        numbers = [(localized(column[head], ".2f"), hues[head]) for head in heads if column[head] >= LEAST]
        colored = [f'<span style="color:{hue}">{number}</span>' for number, hue in numbers]
        written.append(" ".join(colored if len(column) > 1 else [number for number, _ in numbers]))
    return written


def _labels(tokens: Sequence[str], chosen: int | None, weights: Sequence[str] | None) -> dict[str, Any]:
    """Return an axis of tokens, all of them labelled; the chosen one is bold."""
    labels = [escape(shorten(token, _LABEL_LENGTH)) for token in tokens]
    if chosen is not None:
        labels[chosen] = f"<b>{labels[chosen]}</b>"
    if weights is not None:
        labels = [f"{label}  {weight}" if weight else label for label, weight in zip(labels, weights, strict=True)]
    return label_axis(range(len(tokens)), labels, size=13, ticklabelstandoff=4, automargin=True, fixedrange=True)
