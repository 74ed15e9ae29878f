"""The chosen query and key: the query's row as bars, and the same cell in all heads."""

from dataclasses import replace

import numpy as np
import streamlit as st

from headlight.analysis.flow.divergence import entropy
from headlight.analysis.heads.picture import HeadPicture, cell_in_all_heads
from headlight.analysis.heads.table import matrix_csv
from headlight.figures import TokenGrid, row_bars
from headlight.figures.heatmaps.head_grid import head_grid
from headlight.figures.labels import shorten
from headlight.language import say
from pages.components import figures
from pages.explore.heads import view_fields
from pages.explore.heads.data import HeadsData, marked
from pages.shared import prose
from pages.shared.drawing import draw
from pages.shared.recipe import Print, Unwritten, call, named, value_of
from pages.shared.view import state
from transformer_core.errors import mark

HEIGHT = 270  # px
MOST_IN_ALL = 2048  # tokens; on longer texts, computing a row of every head takes seconds
HINT = mark(
    "Click a cell (or use the arrow keys and press Enter) to see its row as a bar chart, and the same cell in every "
    "head of every layer."
)


def show(data: HeadsData, shown: HeadPicture) -> None:
    """Draw the row of the chosen query and its cell in all heads; a hint if no query is chosen."""
    query, key = marked(data, shown)
    if query is None:
        prose.small(say(HINT))
        return
    with st.container(key="hl-cell"):
        left, right = st.columns([7, 5], gap="medium")
    with left:
        _row(data, shown, query, key)
    with right:
        if key is None:
            prose.small(say("Click a cell in this row to see it in every head."))
        else:
            _in_all_heads(data, shown, query, key)


def _row(data: HeadsData, shown: HeadPicture, query: int, key: int | None) -> None:
    """Draw the attention of the chosen query as bars."""
    tokens = shown.queries.tokens[query - shown.queries.first]
    keys = data.spec.window[1] if data.spec.window else (0, data.attention_maps.shape[3] - 1)
    of_row = replace(data.spec, window=((tokens.start, tokens.stop - 1), keys))
    row = data.picture_of(of_row)
    if row.values.shape[0] != 1 or row.blocks:
        too_many = say("This row has too many keys for a bar chart; drag a box on the heatmap to zoom in.")
        prose.small(too_many)
        return
    values = row.values[0].astype(np.float64)
    is_weight = data.spec.quantity in ("pattern", "log")
    label = row.queries.labels[0]
    result = data.recipe_of(of_row)
    figure = call(
        row_bars,
        result.values[0].astype(np.float64),
        call(
            TokenGrid,
            result.queries.labels,
            result.keys.labels,
            first_query=query,
            first_key=result.keys.first,
            key_name=data.axis_names(data.view.attention)["key_name"],
            marked=(None, key),
            height=Unwritten(HEIGHT),
        ),
        quantity=data.spec.quantity,
        mask=result.mask[0],
        largest=shown.largest,
        entropy=float(entropy(values)) if is_weight and data.spec.window is None else None,
    )
    names = [f"{place} {label}" for place, label in enumerate(row.keys.labels, row.keys.first)]
    draw(
        figure,
        Print(result.values[0], "[key]"),
        title=say("Query {query}: {who}", query=query, who=data.who),
        name=data.file_name(f"query{query}"),
        key="heads-row",
        csv=lambda: matrix_csv(row.values, "query", [f"{query} {label}"], "key", names, data.spec.quantity),
        arrays=lambda: {"row": row.values[0], "mask": row.mask[0], "key_tokens": np.array(row.keys.labels)},
        model=data.card.path,
    )


def _in_all_heads(data: HeadsData, shown: HeadPicture, query: int, key: int) -> None:
    """Draw the weight between the chosen query and key in every head."""
    if not data.attention_maps.is_short and max(data.attention_maps.shape[2:]) > MOST_IN_ALL:
        note = say("Comparing a cell across all heads is limited to texts of {n:,} tokens.", n=MOST_IN_ALL)
        prose.small(note)
        return
    queries, keys = shown.queries.tokens[query - shown.queries.first], shown.keys.tokens[key - shown.keys.first]
    weights = named("weights", call(cell_in_all_heads, data.recipe.attention_maps[data.view.attention], queries, keys))
    values: np.ndarray = value_of(weights)
    sides = ((query, shown.queries), (key, shown.keys))
    asking, looked_at = (shorten(side.labels[place - side.first]) for place, side in sides)
    title = say("“{asking}” → “{looked_at}” in every head", asking=asking, looked_at=looked_at)
    figure = call(
        head_grid,
        weights.astype(np.float64),
        title=title,
        what=say("weight"),
        limits=(0.0, 1.0),
        chosen=(data.view.layer, data.view.head),
        height=Unwritten(HEIGHT),
    )
    layers, heads = (list(range(n)) for n in values.shape)
    draw(
        figure,
        Print(weights, "[layer, head]"),
        title=title,
        name=f"{data.view.model}-{data.view.attention}-query{query}-key{key}",
        key="heads-in-all",
        csv=lambda: matrix_csv(values, "layer", layers, "head", heads, "weight"),
        arrays=lambda: {"weight": values},
        model=data.card.path,
        on_cell=lambda: _open(figures.sent_cell("heads-in-all")),
    )


def _open(cell: tuple[int, int] | None) -> None:
    """Choose the head that was clicked."""
    if cell is not None:
        state.SHOWN_HEAD.set(state.current().attention, *cell)
        view_fields.MIX.set(())
        view_fields.MEAN.set("")
