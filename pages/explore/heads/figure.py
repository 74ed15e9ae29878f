"""The large figure of the chosen heads: a heatmap, or lines from queries to keys."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import streamlit as st

from headlight.analysis.heads.picture import HeadPicture, HeadShare
from headlight.analysis.heads.table import pattern_arrays, pattern_csv
from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.figures import TokenGrid, attention_heatmap
from headlight.figures.bipartite import bipartite_lines
from headlight.figures.quantities import QUANTITIES
from headlight.language import say
from pages.components import figures
from pages.explore.heads import view_fields
from pages.explore.heads.components import lines
from pages.explore.heads.data import HeadsData, marked
from pages.shared import prose
from pages.shared.drawing import draw, draw_figure, script
from pages.shared.heads import preview
from pages.shared.recipe import Expression, Print, call, named
from pages.shared.view import state
from transformer_core.errors import HeadlightError

STILL_WIDTH = 560  # px
MOST_LINES = 512  # tokens per side up to which lines can be told apart


def show(data: HeadsData) -> HeadPicture | None:
    """Draw the head; return its picture, or None if it could not be drawn."""
    try:
        shown = data.picture_of(data.spec)
    except HeadlightError as error:
        prose.note(prose.sentence(error))
        return None
    is_small = max(len(shown.queries.tokens), len(shown.keys.tokens)) <= MOST_LINES
    is_finite = np.isfinite(shown.values[shown.mask]).all()
    if view_fields.DRAWING.value == "lines" and is_small and is_finite:
        draw_lines(data, shown)
        return shown
    if view_fields.DRAWING.value == "lines" and not is_finite:
        prose.small(say("Weights that are NaN or infinite have no lines, so the heatmap is shown."))
    elif view_fields.DRAWING.value == "lines":
        prose.small(say("The line view is limited to {n} tokens; drag a box on the heatmap to zoom in.", n=MOST_LINES))
    draw_heatmap(data, shown)
    return shown


def draw_heatmap(data: HeadsData, shown: HeadPicture) -> None:
    """Draw rows of queries and columns of keys."""
    query, key = marked(data, shown)
    draw(
        heatmap(data, (query, key)),
        _printed(data),
        title=data.title,
        name=data.file_name(),
        key=state.HEATMAP,
        height=None,
        **_saved(data, shown),
        cell=(query, key) if query is not None and key is not None else None,
        is_window=data.spec.window is not None,
        on_cell=lambda: view_fields.choose_cell(figures.sent_cell(state.HEATMAP), shown),
        on_window=lambda: view_fields.choose_window(figures.sent_window(state.HEATMAP), shown),
        preview=_preview(data),
    )


def heatmap(data: HeadsData, chosen: tuple[int | None, int | None]) -> Expression:
    """Return the heatmap as code, with the chosen query and key marked."""
    shown, spec = data.recipe_of(data.spec), data.spec
    grid = call(
        TokenGrid,
        shown.queries.labels,
        shown.keys.labels,
        first_query=shown.queries.first,
        first_key=shown.keys.first,
        blocks=shown.blocks,
        marked=chosen,
        generated_from=shown.keys.place(data.generated_from),
        **data.axis_names(data.view.attention),
    )
    look = {"quantity": spec.quantity, "title": data.title, "mask": shown.mask, "largest": shown.largest}
    return call(attention_heatmap, shown.values, grid, **look)


def _preview(data: HeadsData) -> Mapping[str, Any] | None:
    """Return the data for drawing another head on click; None unless the figure is the plain pattern of one head."""
    spec, view, labels = data.spec, data.view, data.model_run.labels
    if len(spec.heads) > 1 or spec.quantity != "pattern" or spec.in_words or spec.hidden or spec.window:
        return None
    grids = {
        name: TokenGrid(*labels(name), generated_from=data.generated_from, **data.axis_names(name))
        for name in data.model_run.attention_maps
    }
    title = say(QUANTITIES["pattern"].title)
    return preview((view.attention, view.layer, view.head), grids, lambda who: f"{title}: {who}")


def draw_lines(data: HeadsData, shown: HeadPicture) -> None:
    """Draw a curve for each weight, in a different color for each head."""
    shares = (
        data.spec.heads if 1 < len(data.spec.heads) <= view_fields.MOST_MIXED and not view_fields.MEAN.value else ()
    )
    weights = replace(data.spec, quantity="pattern")  # lines show no other quantity
    specs = [replace(weights, heads=(HeadShare(layer=s.layer, head=s.head),)) for s in shares] or [weights]
    each = [data.picture_of(spec) for spec in specs]
    patterns = [picture.values.astype(np.float32) for picture in each]
    names = [f"L{share.layer}.H{share.head}" for share in shares] or [data.who]
    attention = say(ATTENTIONS[data.view.attention].inline)
    who = say("{attention}, heads {heads}", attention=attention, heads=", ".join(names)) if shares else data.who
    title = say("Attention as lines: {who}", who=who)
    prose.html("<p class='hl-figure-title'>{}</p>", title)
    grid = TokenGrid(
        each[0].queries.labels,
        each[0].keys.labels,
        first_query=shown.queries.first,
        first_key=shown.keys.first,
        marked=marked(data, shown),
        generated_from=shown.keys.place(data.generated_from),
        **data.axis_names(data.view.attention),
    )
    lines.attention_lines(
        grid,
        patterns=patterns,
        masks=[picture.mask for picture in each],
        names=names,
        key="heads-lines",
        on_cell=lambda: view_fields.choose_line("heads-lines", shown),
    )
    with st.popover(say("Save"), type="tertiary", key="heads-lines-still", on_change="rerun") as still:
        if still.open:
            redrawn = named("figure", heatmap(data, marked(data, shown)))
            about = {"title": data.title, "name": data.file_name()}
            with st.container(width=STILL_WIDTH):
                draw_figure(
                    bipartite_lines(patterns, grid, names=names if shares else (), title=title),
                    name=data.file_name("lines"),
                    key="heads-still",
                    code=lambda: script(redrawn, _printed(data), **about),
                    **_saved(data, shown),
                    height=460,
                    opens=True,
                )


def _printed(data: HeadsData) -> Print:
    return Print(data.recipe_of(data.spec).values, "[query, key]")


def _saved(data: HeadsData, shown: HeadPicture) -> dict[str, Any]:
    """Return the numbers saved with the heatmap, and its model, as arguments of `draw_figure`."""
    table: dict[str, Any] = {
        "mask": shown.mask,
        "query_tokens": _units(shown, "queries"),
        "key_tokens": _units(shown, "keys"),
        "first_query": shown.queries.first if not shown.blocks else 0,
        "first_key": shown.keys.first if not shown.blocks else 0,
    }
    return {
        "csv": lambda: pattern_csv(shown.values, **table),
        "arrays": lambda: pattern_arrays(shown.values, **table),
        "model": data.card.path,
    }


def _units(shown: HeadPicture, side: str) -> list[str]:
    """Return the meaning of the rows or columns; in an overview, the positions of each block."""
    labels, n = getattr(shown, side).labels, shown.values.shape[side == "keys"]
    if not shown.blocks:
        return list(labels)
    ends = [getattr(shown, side).first + cell * len(labels) // n for cell in range(n + 1)]
    return [f"{start} to {end - 1}" for start, end in pairwise(ends)]
