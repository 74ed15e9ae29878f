"""Where two patterns of the same text differ: query rows, key columns, B minus A."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float

from headlight.figures.heatmaps.cells import NUMBERS_UP_TO, cell_traces, number_traces, outlines, words
from headlight.figures.hues import CHOSEN, diverging_scale
from headlight.figures.labels import escape
from headlight.figures.layout import figure_of
from headlight.figures.quantities import COLORBAR, MINUS
from headlight.figures.token_axes import HEIGHT, WIDTH, grid_layout, grid_places
from transformer_core.errors import mark
from transformer_core.language import say

_WRITTEN = 0.05  # from this difference on, it is written into its cell
_DEEP = 0.9  # from this difference on, a cell is written on in the color of the background
_NUMBER = 32  # px: the width of a number with its sign
_UNCHANGED = 0.005  # what rounds to less than this is no difference in words


def difference_heatmap(
    a: Float[np.ndarray, "query key"],
    b: Float[np.ndarray, "query key"],
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    *,
    title: str = mark("Attention difference, B − A"),
    mask: Bool[np.ndarray, "query key"] | None = None,
    first_query: int = 0,
    first_key: int = 0,
    marked: tuple[int | None, int | None] = (None, None),
    names: tuple[str, str] = ("A", "B"),
    query_name: str = mark("query"),
    key_name: str = mark("key"),
    width: int = WIDTH,
    height: int = HEIGHT,
) -> go.Figure:
    """Draw B minus A: indigo where B looks more, orange where A does, the background where both look alike.

    Args:
        a: attention weights in [0, 1] of one head; NaN where A has no such query or key.
        b: those of another, or of the same at another moment, on the same text or on one aligned to it.
        query_tokens: the labels of the rows.
        key_tokens: the labels of the columns.
        title: names the quantity, and what is compared.
        mask: True = may attend. Cells that may not are painted in a neutral color of their own, not as zeros.
        first_query: the place of the first query in the whole text, where the figure is a window of it.
        first_key: that of the first key.
        marked: a query and a key to frame, as places in the whole text.
        names: what A and B are, in the hover texts and above the scale.
        query_name: what the rows are, for the axis title.
        key_name: what the columns are, for the axis title.
        width: px that the figure is laid out for; it takes the width that it is given.
        height: px.

    Returns:
        A figure over integer positions, the places in the whole text, with the tokens as tick text, its color range
        fixed to [-1, 1]. Of a large one the browser composes the words, see `cells`.

    Raises:
        ValueError: the labels do not fit the patterns.
    """
    queries, keys = grid_places(a.shape, query_tokens, key_tokens, first_query, first_key)
    difference = b - a
    allowed = np.isfinite(difference) if mask is None else mask
    broken = allowed & ~np.isfinite(difference)
    one, other = (escape(name) for name in names)
    hover_words = words(
        queries,
        keys,
        allowed,
        numbers=lambda: _changes(a, b, (one, other)),
        between="<br>",
        before=f"{other} {MINUS} {one} = ",
        form="+.2f",
        broken=broken,
    )
    traces = cell_traces(
        difference, queries, keys, allowed, name=say("difference"), color_axis="coloraxis3", hover_words=hover_words
    )
    if max(a.shape) <= NUMBERS_UP_TO:
        rows, columns = np.nonzero(allowed & ~broken)
        traces += number_traces(columns + first_key, rows + first_query, *_in_cells(difference[allowed & ~broken]))
    layout = grid_layout(
        queries,
        keys,
        title=title,
        query_name=query_name,
        key_name=key_name,
        width=width,
        height=height,
        number=_NUMBER,
        marked=marked,
    )
    layout["meta"] |= hover_words.meta
    layout["coloraxis3"] = {
        "cmin": -1,
        "cmax": 1,
        "colorscale": diverging_scale(),
        "colorbar": COLORBAR
        | {
            "title": {"text": f"{other} {MINUS} {one}", "side": "top", "font": {"size": 11}},
            "tickvals": [-1, -0.5, 0, 0.5, 1],
            "ticktext": [f"{MINUS}1", f"{MINUS}0.5", "0", "+0.5", "+1"],
        },
    }
    return figure_of(traces, layout | outlines(queries, keys, marked, CHOSEN))


def _changes(
    a: Float[np.ndarray, "query key"], b: Float[np.ndarray, "query key"], names: tuple[str, str]
) -> list[list[str]]:
    """Each cell in words: both weights, and how much more or less the second is."""
    one, other = names
    same, more, less = say("no change"), say("{change} more"), say("{change} less")
    return [
        [
            f"{one}: {in_a:.2f}, {other}: {in_b:.2f}, "
            + (
                same
                if abs(in_b - in_a) < _UNCHANGED
                else (more if in_b > in_a else less).format(change=f"{abs(in_b - in_a):.2f}")
            )
            for in_a, in_b in zip(row_a, row_b, strict=True)
        ]
        for row_a, row_b in zip(a.tolist(), b.tolist(), strict=True)
    ]


def _in_cells(difference: Float[np.ndarray, " cell"]) -> tuple[list[str], Bool[np.ndarray, " cell"]]:
    """The differences to write into the cells, with their signs, and which cells are deep."""
    size = np.abs(difference)
    texts = [
        f"{value:+.2f}".replace("0.", ".").replace("-", MINUS) if is_written else ""
        for value, is_written in zip(difference.tolist(), (size >= _WRITTEN).tolist(), strict=True)
    ]
    return texts, size >= _DEEP
