"""Where two patterns of the same text differ: query rows, key columns, B minus A."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float

from transformer_core.figures.attention import COLORBAR, HEIGHT, WIDTH, escape, grid_layout, isolate
from transformer_core.figures.hues import diverging_scale
from transformer_core.figures.theme import LIGHT, Theme

_NUMBERS_UP_TO = 16  # tokens a side up to which the values are written into the cells
_WRITTEN = 0.05  # from this difference on
_DEEP = 0.9  # from this difference on, a cell is written on in the color of the background
_NUMBER = 32  # px: the width of a number with its sign
_UNCHANGED = 0.005  # what rounds to less than this is no difference in words


def difference_heatmap(
    a: Float[np.ndarray, "query key"],
    b: Float[np.ndarray, "query key"],
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    *,
    title: str = "Difference of two patterns, B \u2212 A",
    mask: Bool[np.ndarray, "query key"] | None = None,
    names: tuple[str, str] = ("A", "B"),
    query_name: str = "query",
    key_name: str = "key",
    theme: Theme = LIGHT,
    width: int = WIDTH,
    height: int = HEIGHT,
) -> go.Figure:
    """Draw B minus A: indigo where B looks more, orange where A does, the background where both look alike.

    Args:
        a: attention weights in [0, 1] of one head.
        b: those of another, or of the same at another moment, on the same text.
        query_tokens: the labels of the rows.
        key_tokens: the labels of the columns.
        title: names the quantity, and what is compared.
        mask: True = may attend. Cells that may not are painted in a neutral color of their own, not as zeros.
        names: what A and B are, in the hover texts and beside the scale.
        query_name: what the rows are, for the axis title.
        key_name: what the columns are, for the axis title.
        theme: light or dark.
        width: px that the figure is laid out for; it takes the width that it is given.
        height: px.

    Returns:
        A figure over integer positions with the tokens as tick text, its color range fixed to [-1, 1].

    Raises:
        ValueError: the labels do not fit the patterns.
    """
    if (len(query_tokens), len(key_tokens)) != a.shape:
        raise ValueError(
            f"The patterns have {a.shape[0]} queries and {a.shape[1]} keys, but there are {len(query_tokens)} query "
            f"labels and {len(key_tokens)} key labels; give one label a row and one a column."
        )
    allowed = np.ones(a.shape, dtype=bool) if mask is None else mask
    difference = b - a
    gap = 1 if max(a.shape) <= 32 else 0
    shared = {"customdata": _words(a, b, allowed, query_tokens, key_tokens, names), "hoverongaps": False}
    shared["hovertemplate"] = "%{customdata}<extra></extra>"
    traces = [
        go.Heatmap(
            name="difference",
            z=np.where(allowed, difference, np.nan).astype(np.float32),
            coloraxis="coloraxis3",
            xgap=gap,
            ygap=gap,
            **shared,
        )
    ]
    if max(a.shape) <= _NUMBERS_UP_TO:
        traces += _numbers(difference, allowed)
    if not allowed.all():
        forbidden = np.where(allowed, np.nan, 0.0).astype(np.float32)
        traces.insert(0, go.Heatmap(name="not allowed by the mask", z=forbidden, coloraxis="coloraxis2", **shared))
    layout = grid_layout(
        query_tokens,
        key_tokens,
        title=title,
        query_name=query_name,
        key_name=key_name,
        theme=theme,
        width=width,
        height=height,
    )
    layout["meta"] = {"textFromWidth": 140 + _NUMBER * a.shape[1]}
    less, more = (f"{escape(name)}<br>looks more" for name in names)
    layout["coloraxis3"] = {
        "cmin": -1,
        "cmax": 1,
        "colorscale": diverging_scale(),
        "colorbar": COLORBAR | {"tickvals": [-1, 0, 1], "ticktext": [less, "0", more]},
    }
    return go.Figure(data=traces, layout=layout)


def _words(
    a: Float[np.ndarray, "query key"],
    b: Float[np.ndarray, "query key"],
    allowed: Bool[np.ndarray, "query key"],
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    names: tuple[str, str],
) -> list[list[str]]:
    """Each cell in full words: both weights, and how much more or less the second is."""
    queries, keys = (
        [f"{kind} {index} '{escape(isolate(token))}'" for index, token in enumerate(tokens)]
        for kind, tokens in (("query", query_tokens), ("key", key_tokens))
    )
    rows = []
    for row, query in enumerate(queries):
        cells = []
        for column, key in enumerate(keys):
            if not allowed[row, column]:
                cells.append(f"{query} \u2192 {key}: not allowed by the mask")
                continue
            in_a, in_b = float(a[row, column]), float(b[row, column])
            by = f"{abs(in_b - in_a):.2f} {'more' if in_b > in_a else 'less'}"
            by = "the same" if abs(in_b - in_a) < _UNCHANGED else by
            one, other = (escape(name) for name in names)
            cells.append(f"{query} \u2192 {key}<br>{one}: {in_a:.2f}, {other}: {in_b:.2f}, {by}")
        rows.append(cells)
    return rows


def _numbers(difference: Float[np.ndarray, "query key"], allowed: Bool[np.ndarray, "query key"]) -> list[go.Scatter]:
    """The differences to write into the cells, with their signs: those on pale cells, then those on deep cells."""
    size = np.abs(difference)
    traces = []
    for name, low, high in (("numbers on pale cells", _WRITTEN, _DEEP), ("numbers on deep cells", _DEEP, np.inf)):
        queries, keys = np.nonzero(allowed & (size >= low) & (size < high))
        values = difference[queries, keys].tolist()
        traces.append(
            go.Scatter(
                name=name,
                x=keys,
                y=queries,
                text=[f"{value:+.2f}".replace("0.", ".").replace("-", "\u2212") for value in values],
                mode="text",
                hoverinfo="skip",
                showlegend=False,
            )
        )
    return traces
