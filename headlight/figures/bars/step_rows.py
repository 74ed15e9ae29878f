"""One step of writing: where each head looks in order to say the next token, a row a head."""

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from headlight.figures.heatmaps.cells import (
    MOST_TOLD,
    NUMBERS_UP_TO,
    Words,
    cell_traces,
    number_traces,
    outlines,
)
from headlight.figures.hues import FAINT, WARM
from headlight.figures.labels import escape
from headlight.figures.layout import HOVER, figure_of
from headlight.figures.quantities import QUANTITIES
from headlight.figures.token_axes import Places, grid_layout
from transformer_core.errors import mark
from transformer_core.language import say

MEAN = mark("mean")


class LayerRows(NamedTuple):
    """The rows of one step that belong together."""

    values: Float[np.ndarray, "row key"]  # heads, and after them their mean
    labels: tuple[str, ...]  # "L0.H1"; "L0" for the mean of layer 0; "mean"
    chosen: int  # the row of whose attention is looked at
    name: str  # what the rows are: "head" or "layer"


_ROW, _LEAST_ROW = 24, 9  # px that a head takes; in a high figure it takes less
_MOST = 560  # px of all rows
_WITH_NUMBERS = 20  # px of a row in which a number has room


def layer_rows(
    patterns: Float[np.ndarray, "layer head key"], *, layer: int, head: int, mean: Literal["", "layer", "all"]
) -> LayerRows:
    """Return the heads of a layer and their mean; or, for the mean of all heads, each layer's mean and that of all.

    Args:
        patterns: attention weights of one query, of all heads.
        layer: whose heads are seen.
        head: the chosen one.
        mean: "": the head is looked at; "layer": the mean of its layer; "all": that of all heads.
    """
    of_all = mean == "all"
    rows = patterns.mean(axis=1) if of_all else patterns[layer]
    names = [f"L{i}" if of_all else f"L{layer}.H{i}" for i in range(len(rows))]
    values = np.concatenate([rows, rows.mean(axis=0, keepdims=True)])
    return LayerRows(values, (*names, MEAN), len(rows) if mean else head, "layer" if of_all else "head")


def step_rows(
    rows: Float[np.ndarray, "row key"],
    key_labels: Sequence[str],
    row_labels: Sequence[str],
    *,
    title: str,
    chosen: int | None = None,
    key: int | None = None,
    n_keys: int | None = None,
    key_name: str = mark("key"),
    row_name: str = mark("head"),
    width: int = 600,
    height: int | None = None,
) -> go.Figure:
    """Draw the weights of one query in several heads.

    Args:
        rows: attention weights in [0, 1]; each row sums to 1.
        key_labels: the labels of the columns.
        row_labels: the labels of the rows: layer and head as "0.1", and "mean", which a line sets apart.
        title: names the quantity, and the step.
        chosen: the row to frame.
        key: the key to frame.
        n_keys: for how many keys there is room, so that nothing moves while they become more; None: for these.
        key_name: what the keys are, for the axis title.
        row_name: what the rows are.
        width: px that the figure is laid out for; it takes the width that it is given.
        height: px; None: what the rows need.

    Returns:
        A figure over integer positions, rows from top to bottom; the range of colors is fixed to [0, 1].

    Raises:
        ValueError: the labels do not fit the rows.
    """
    if rows.shape != (len(row_labels), len(key_labels)):
        raise ValueError(
            f"There are {rows.shape[0]} rows of {rows.shape[1]} keys, but {len(row_labels)} row labels and "
            f"{len(key_labels)} key labels; give one label a row and one a key."
        )
    what = QUANTITIES["pattern"]
    shown_labels = [say(label) if label == MEAN else label for label in row_labels]
    heads = Places(kind="query", tokens=shown_labels, n_cells=len(row_labels))
    seen = Places(kind="key", tokens=key_labels, n_cells=len(key_labels))
    labels = [*key_labels, *[""] * ((n_keys or 0) - len(key_labels))]
    keys = Places(kind="key", tokens=labels, n_cells=len(labels))
    hover_words = _hover_words(rows, row_labels, seen, row_name)
    room = min(_ROW * len(row_labels), max(_MOST, _LEAST_ROW * len(row_labels)))
    layout = grid_layout(heads, keys, title=title, query_name=row_name, key_name=key_name, width=width, height=room)
    layout["height"] = height or math.ceil(room + layout["margin"]["t"] + layout["margin"]["b"])
    layout["yaxis"] |= heads.axis(row_name, room=room) | {
        "title": {"text": escape(say(row_name)), "font": {"size": 13}}
    }
    layout["meta"] |= hover_words.meta
    layout["coloraxis"] = what.colors((0, 1))
    allowed = np.ones(rows.shape, dtype=bool)
    traces: list[Any] = [
        *cell_traces(rows, heads, keys, allowed, name=say(what.trace), color_axis="coloraxis", hover_words=hover_words)
    ]
    if len(labels) <= NUMBERS_UP_TO and room >= _WITH_NUMBERS * len(row_labels):
        places, columns = np.indices(rows.shape)
        traces += number_traces(columns.ravel(), places.ravel(), *what.in_cells(rows.ravel(), (0, 1)))
    framed = outlines(heads, keys, (chosen, key), WARM).get("shapes", [])
    return figure_of(traces, layout | {"shapes": [*_set_apart(row_labels, keys), *framed]})


def _hover_words(rows: Float[np.ndarray, "row key"], row_labels: Sequence[str], keys: Places, row_name: str) -> Words:
    """Return what hovering tells of each cell; of many, what the browser needs to compose it, see `cells`."""
    row, mean = escape(say(row_name)), say("mean of these rows")
    names = [mean if label == MEAN else f"{row} {escape(label)}" for label in row_labels]
    shown = {"hovertemplate": HOVER, "hoverongaps": False}
    if rows.size > MOST_TOLD:
        fields = {"queries": names, "keys": keys.words, "before": "", "format": ".2f", "power": False, "forbidden": ""}
        return Words({"meta": "words"} | shown, {"words": fields})
    texts = [
        [f"{name} \u2192 {key}: {weight:.2f}" for key, weight in zip(keys.words, row, strict=True)]
        for name, row in zip(names, rows.tolist(), strict=True)
    ]
    return Words({"customdata": np.array(texts, dtype=object)} | shown, {})


def _set_apart(row_labels: Sequence[str], keys: Places) -> list[dict[str, Any]]:
    """Return a line above the mean, where heads stand above it."""
    if MEAN not in row_labels[1:]:
        return []
    edge = list(row_labels).index(MEAN) - 0.5
    line = {"type": "line", "line": {"color": FAINT, "width": 1.5}}
    return [line | {"x0": keys.ends[0], "x1": keys.ends[1], "y0": edge, "y1": edge}]
