"""The pattern of the chosen head without and with the stack; a click chooses a cell to edit."""

from functools import partial

import streamlit as st

from headlight.analysis.heads.table import pattern_arrays, pattern_csv
from headlight.figures import TokenGrid, attention_heatmap
from pages.components import figures
from pages.investigate.interventions import view_fields
from pages.investigate.interventions.data import InterventionsData
from pages.shared.drawing import looks
from pages.shared.recipe import Expression, Print, call, named, value_of
from transformer_core.language import say

HEIGHT = 380  # px
KEY = "interventions-pattern"


def show(data: InterventionsData) -> None:
    """Draw both patterns beside each other."""
    view, run = data.view, data.base_recipe.run
    labels = named("queries, keys", run.labels(view.attention))
    queries, keys = value_of(labels)
    mask = named("mask", run.attention_maps[view.attention].mask(view.layer))
    who = f"L{view.layer}.H{view.head}"  # the attention is chosen beside it, and a longer title has no room
    is_group = view_fields.SCOPE.value == "group"
    cell = None if is_group else view_fields.CELL.value
    columns = st.columns(2, gap="small")
    titles = (say("{who}, unchanged", who=who), say("{who}, with the stack", who=who))
    for column, values, title, key in zip(columns, _patterns(data), titles, (f"{KEY}-before", KEY), strict=True):
        weights = named("pattern", values)
        drawn = call(
            attention_heatmap,
            weights,
            call(TokenGrid, *labels, marked=cell or (None, None), **looks(460, HEIGHT)),
            title=title,
            mask=mask,
            framed=view_fields.GROUP.value if is_group else (),
        )
        with column:
            data.draw(
                drawn,
                named("numbers", call(pattern_arrays, weights, *labels, mask)),
                "[query, key]",
                title=title,
                name=key,
                key=key,
                csv=lambda numbers: pattern_csv(numbers["pattern"], queries, keys, numbers["mask"]),
                cell=cell,
                on_cell=partial(_choose, key),
                on_window=partial(_choose_box, data, key) if is_group else None,
                stays_whole=True,
                link="interventions",
            )


def code(data: InterventionsData) -> list[Print]:
    """Return the lines that print both patterns."""
    return [Print(pattern, "[query, key]") for pattern in _patterns(data)]


def _patterns(data: InterventionsData) -> list[Expression]:
    """Return the pattern of the chosen head as code, before and after."""
    attention, place = data.view.attention, (data.view.layer, data.view.head)
    return [of.patterns[attention][place] for of in (data.base_recipe.forced, data.result_recipe)]


def _choose(key: str) -> None:
    cell = figures.sent_cell(key)
    view_fields.choose_cell(cell)
    if cell is not None:
        view_fields.ADD.set("cells")


def _choose_box(data: InterventionsData, key: str) -> None:
    """Add the cells of a box that was drawn, as far as the mask allows them."""
    box = figures.sent_window(key)
    if box is not None:
        allowed = data.run.masks[data.view.attention][data.view.layer]
        view_fields.add_cells([(query, cell) for query in box[0] for cell in box[1] if allowed[query, cell]])
        view_fields.ADD.set("cells")
