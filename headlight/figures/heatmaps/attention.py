"""Attention patterns as figures: query rows, key columns, always."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float

from headlight.figures.heatmaps.cells import NUMBERS_UP_TO, cell_traces, number_traces, outlines, words
from headlight.figures.hues import CHOSEN, WARM
from headlight.figures.layout import figure_of
from headlight.figures.quantities import QUANTITIES, QuantityName
from headlight.figures.token_axes import HEIGHT, WIDTH, grid_layout, grid_places
from transformer_core.errors import mark
from transformer_core.language import say

_AT_MOST = mark("at most ")  # a cell of an overview tells the largest of its block


def attention_heatmap(
    values: Float[np.ndarray, "query key"],
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    *,
    quantity: QuantityName = "pattern",
    title: str | None = None,
    mask: Bool[np.ndarray, "query key"] | None = None,
    first_query: int = 0,
    first_key: int = 0,
    blocks: tuple[int, int] | None = None,
    largest: float | None = None,
    marked: tuple[int | None, int | None] = (None, None),
    group: Iterable[tuple[int, int]] = (),
    generated_from: int | None = None,
    query_name: str = mark("query"),
    key_name: str = mark("key"),
    width: int = WIDTH,
    height: int = HEIGHT,
) -> go.Figure:
    """One head's pattern, one row a query from top to bottom, one column a key.

    Args:
        values: attention weights in [0, 1], where each row over `key` sums to 1; or another quantity. "log" takes
            weights, too, and "scores" has -inf where a query may not attend.
        query_tokens: the labels of the rows; in an overview, of all queries.
        key_tokens: the labels of the columns; in an overview, of all keys.
        quantity: what the values are, a name in QUANTITIES.
        title: names the quantity, and the head; None: the quantity.
        mask: True = may attend. Cells that may not are painted in a neutral color of their own, not as zeros.
        first_query: the place of the first query in the whole text, where the figure is a window of it.
        first_key: that of the first key.
        blocks: how many queries and keys an overview stands for; None: a cell each. Cell i of m then holds the largest
            value of the n places from i * n // m on, as `Overview` of the instruments pools them.
        largest: the end of the range of colors of scores and of lengths, so that all windows of a text have the same;
            None: the largest size among these values.
        marked: a query and a key to frame, as places in the whole text.
        group: cells to frame, each a query and a key.
        generated_from: the first place of the text that the model wrote itself, with dotted lines before its row and
            its column; None: it wrote none.
        query_name: what the rows are, for the axis title.
        key_name: what the columns are, for the axis title.
        width: px that the figure is laid out for; it takes the width that it is given.
        height: px.

    Returns:
        A figure over integer positions, the places in the whole text, with the tokens as tick text. The range of
        colors is fixed: [0, 1] for weights, 10^-4 to 1 for their powers, around 0 for scores, from 0 for lengths. Of a
        large one the browser composes the words, see `cells`.

    Raises:
        ValueError: the labels do not fit the values.
    """
    what = QUANTITIES[quantity]
    queries, keys = grid_places(values.shape, query_tokens, key_tokens, first_query, first_key, blocks)
    allowed = ~np.isneginf(values) if mask is None else mask
    broken = allowed & ~np.isfinite(values)
    seen = values[allowed & ~broken]
    limits = what.limits(seen, largest)
    decimals = what.decimals(limits[1])
    before = say(what.before) + (say(_AT_MOST) if blocks else "")
    hover_words = words(
        queries,
        keys,
        allowed,
        numbers=lambda: [[before + number for number in what.written(row, decimals)] for row in values.tolist()],
        before=before,
        form=f".{decimals}f",
        is_power=what.scale == "power",
        broken=broken,
    )
    traces = cell_traces(
        np.where(broken, np.nan, what.drawn(values)),
        queries,
        keys,
        allowed,
        name=say(what.trace),
        color_axis=what.color_axis,
        hover_words=hover_words,
    )
    if max(values.shape) <= NUMBERS_UP_TO and not blocks:
        rows, columns = np.nonzero(allowed & ~broken)
        traces += number_traces(columns + first_key, rows + first_query, *what.in_cells(seen, limits))
    layout = grid_layout(
        queries,
        keys,
        title=what.title if title is None else title,
        query_name=query_name,
        key_name=key_name,
        width=width,
        height=height,
        number=what.number_width,
        marked=marked,
    )
    layout["meta"] |= hover_words.meta | (
        {"blocks": {"queries": queries.starts, "keys": keys.starts}} if blocks else {}
    )
    layout[what.color_axis] = what.colors(limits)
    return figure_of(
        traces,
        layout
        | outlines(
            queries,
            keys,
            marked,
            WARM if what.scale != "signed" else CHOSEN,
            group=group,
            generated_from=generated_from,
        ),
    )


def heatmap_frame(
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    *,
    title: str,
    query_name: str,
    key_name: str,
    generated_from: int | None = None,
) -> dict[str, Any]:
    """Return the layout of a pattern's heatmap, but for its colors, for who draws the cells himself: plain JSON.

    Args:
        query_tokens: the labels of the rows.
        key_tokens: the labels of the columns.
        title: names the head.
        query_name: what the rows are, for the axis title.
        key_name: what the columns are, for the axis title.
        generated_from: as for `attention_heatmap`.
    """
    queries, keys = grid_places((len(query_tokens), len(key_tokens)), query_tokens, key_tokens)
    layout = grid_layout(
        queries,
        keys,
        title=title,
        query_name=query_name,
        key_name=key_name,
        width=WIDTH,
        height=HEIGHT,
        number=QUANTITIES["pattern"].number_width,
    )
    return layout | outlines(queries, keys, (None, None), generated_from=generated_from)
