"""Attention patterns as figures: query rows, key columns, always."""

import math
import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float

from transformer_core.figures.theme import DEEP, KEY, LIGHT, QUERY, Theme, template

COLORBAR = {"thickness": 10, "len": 0.5, "y": 1, "yanchor": "top", "tickvals": [0, 0.5, 1]}
LABEL_LENGTH = 13  # characters of a token on an axis; the whole token is in the hover text
WIDTH, HEIGHT = 600, 540  # px
_CHARACTER, _LINE, _TITLE = 7.0, 14, 24  # px: the width of a letter, the height of a tick text and of a title
_NUMBERS_UP_TO = 16  # tokens a side up to which the values are written into the cells


def attention_heatmap(
    pattern: Float[np.ndarray, "query key"],
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    *,
    title: str = "Attention pattern",
    mask: Bool[np.ndarray, "query key"] | None = None,
    query_name: str = "query",
    key_name: str = "key",
    theme: Theme = LIGHT,
    width: int = WIDTH,
    height: int = HEIGHT,
) -> go.Figure:
    """One head's pattern, one row a query from top to bottom, one column a key.

    Args:
        pattern: attention weights in [0, 1]; each row over `key` sums to 1.
        query_tokens: the labels of the rows.
        key_tokens: the labels of the columns.
        title: names the quantity, and the head.
        mask: True = may attend. Cells that may not are painted in a neutral color of their own, not as zeros.
        query_name: what the rows are, for the axis title.
        key_name: what the columns are, for the axis title.
        theme: light or dark.
        width: px that the figure is laid out for; it takes the width that it is given.
        height: px.

    Returns:
        A figure over integer positions with the tokens as tick text, its color range fixed to [0, 1].

    Raises:
        ValueError: the labels do not fit the pattern.
    """
    n_queries, n_keys = pattern.shape
    if (len(query_tokens), len(key_tokens)) != (n_queries, n_keys):
        raise ValueError(
            f"The pattern has {n_queries} queries and {n_keys} keys, but there are {len(query_tokens)} query labels "
            f"and {len(key_tokens)} key labels; give one label a row and one a column."
        )
    allowed = np.ones(pattern.shape, dtype=bool) if mask is None else mask
    words = hover_words(pattern, query_tokens, key_tokens, mask=mask)
    gap = 1 if max(n_queries, n_keys) <= 32 else 0

    shared = {"customdata": words, "hovertemplate": "%{customdata}<extra></extra>", "hoverongaps": False}
    traces = [
        go.Heatmap(
            name="attention",
            z=np.where(allowed, pattern, np.nan).astype(np.float32),
            coloraxis="coloraxis",
            xgap=gap,
            ygap=gap,
            **shared,
        )
    ]
    if max(n_queries, n_keys) <= _NUMBERS_UP_TO:
        traces += _numbers(pattern, allowed)
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
    layout["coloraxis"] = {"cmin": 0, "cmax": 1, "colorbar": COLORBAR}
    return go.Figure(data=traces, layout=layout)  # at once: updates of the layout take three times as long


def grid_layout(
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    *,
    title: str,
    query_name: str,
    key_name: str,
    theme: Theme,
    width: int,
    height: int,
) -> dict[str, Any]:
    """Return the layout of a grid of cells, query rows and key columns, but for its colors; arguments as above."""
    n_queries, n_keys = len(query_tokens), len(key_tokens)
    longest = max((_text_width(shorten(token)) for token in key_tokens), default=0.0)
    is_slanted = longest > 0.8 * width / max(n_keys, 1)
    top = 2 * _TITLE + (longest / math.sqrt(2) + 8 if is_slanted else _LINE)
    keys = _token_axis(key_tokens, key_name, KEY, pitch=width / max(n_keys, 1)) | {
        "side": "top",
        "range": [-0.5, n_keys - 0.5],
        "tickangle": -45 if is_slanted else 0,
    }
    queries = _token_axis(query_tokens, query_name, QUERY, pitch=height * 0.75 / max(n_queries, 1)) | {
        "range": [n_queries - 0.5, -0.5],
        "automargin": True,
    }
    return {
        "template": template(theme),
        "title": {"text": escape(title), "x": 0, "xref": "container", "y": 1, "yref": "container", "yanchor": "top"}
        | {"pad": {"t": 4, "l": 2}},
        "height": height,
        "meta": {"textFromWidth": 140 + 24 * n_keys},  # px, for whoever draws this in a narrow place
        "margin": {"l": 8, "r": 8, "t": top, "b": 8},
        "xaxis": keys,
        "yaxis": queries,
    }


def hover_words(
    pattern: Float[np.ndarray, "query key"],
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    *,
    mask: Bool[np.ndarray, "query key"] | None = None,
) -> list[list[str]]:
    """Each cell in full words: ``query 3 'sat' → key 1 'cat': 0.42``, or that the mask does not allow it."""
    queries = [f"query {index} '{escape(isolate(token))}'" for index, token in enumerate(query_tokens)]
    keys = [f"key {index} '{escape(isolate(token))}'" for index, token in enumerate(key_tokens)]
    values = pattern.tolist()
    rows = [
        [f"{query} \u2192 {key}: {value:.2f}" for key, value in zip(keys, row, strict=True)]
        for query, row in zip(queries, values, strict=True)
    ]
    if mask is not None:
        for query, key in np.argwhere(~mask).tolist():
            rows[query][key] = f"{queries[query]} \u2192 {keys[key]}: not allowed by the mask"
    return rows


def shorten(token: str, length: int = LABEL_LENGTH) -> str:
    """The token, or its beginning and an ellipsis if it has more than `length` characters."""
    return token if len(token) <= length else token[: length - 1] + "\u2026"


def isolate(token: str) -> str:
    """The token, kept apart from the words around it where it is written from right to left."""
    is_rightward = all(unicodedata.bidirectional(letter) not in ("R", "AL") for letter in token)
    return token if is_rightward else f"\u2068{token}\u2069"


def escape(token: str) -> str:
    """The token as plain text for plotly, which reads tags and entities in its labels."""
    return token.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _token_axis(tokens: Sequence[str], name: str, hue: str, *, pitch: float) -> dict[str, Any]:
    """An axis of integer positions with tokens as tick text, thinned out where `pitch`, px a token, is too small."""
    step = max(1, math.ceil(_LINE / pitch)) if pitch > 0 else 1
    positions = list(range(0, len(tokens), step))
    return {
        "title": {"text": f"<b>{escape(name)}</b>", "font": {"color": hue, "size": 13}, "standoff": 6},
        "tickmode": "array",
        "tickvals": positions,
        "ticktext": [escape(shorten(tokens[position])) for position in positions],
        "tickfont": {"size": 13 if pitch >= 20 else 11},
        "ticks": "",
        "ticklabelstandoff": 3,
    }


def _numbers(pattern: Float[np.ndarray, "query key"], allowed: Bool[np.ndarray, "query key"]) -> list[go.Scatter]:
    """The values to write into the cells, from 0.05 up: those on pale cells, then those on deep cells."""
    traces = []
    for name, low, high in (("numbers on pale cells", 0.05, DEEP), ("numbers on deep cells", DEEP, np.inf)):
        queries, keys = np.nonzero(allowed & (pattern >= low) & (pattern < high))
        traces.append(
            go.Scatter(
                name=name,
                x=keys,
                y=queries,
                text=[f"{value:.2f}".removeprefix("0") for value in pattern[queries, keys].tolist()],
                mode="text",
                hoverinfo="skip",
                showlegend=False,
            )
        )
    return traces


def _text_width(text: str) -> float:
    """About how many px the text takes as tick text; East Asian letters and emoji are twice as wide."""
    return _CHARACTER * sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)
