"""The pattern of the chosen head without and with the stack; a click chooses a cell to edit."""

from functools import partial

import numpy as np
import streamlit as st

from pages.components import figures
from pages.investigate.interventions import view_fields
from pages.investigate.interventions.data import InterventionsData
from pages.shared.recipe import Print
from pages.shared.style import theme
from transformer_core.analysis.heads.table import matrix_csv
from transformer_core.figures.heatmaps.attention import attention_heatmap
from transformer_core.language import say

HEIGHT = 380  # px
KEY = "interventions-pattern"


def show(data: InterventionsData) -> None:
    """Draw both patterns beside each other."""
    before, after = data.pattern
    view = data.view
    mask = data.run.attention_maps[view.attention].mask(view.layer)
    queries, keys = data.run.labels(view.attention)
    who = f"L{view.layer}.H{view.head}"  # the attention is chosen beside it, and a longer title has no room
    is_group = view_fields.SCOPE.value == "group"
    cell = None if is_group else view_fields.CELL.value
    columns = st.columns(2, gap="small")
    titles = (say("{who}, unchanged", who=who), say("{who}, with the stack", who=who))
    for column, values, title, key in zip(columns, (before, after), titles, (f"{KEY}-before", KEY), strict=True):
        figure = attention_heatmap(
            np.asarray(values),
            queries,
            keys,
            title=title,
            mask=mask,
            marked=cell or (None, None),
            group=view_fields.GROUP.value if is_group else (),
            theme=theme(),
            width=460,
            height=HEIGHT,
        )
        with column:
            figures.live_figure(
                figure,
                name=data.file_name(key),
                key=key,
                csv=matrix_csv(np.asarray(values), "query", queries, "key", keys, "weight"),
                height=HEIGHT,
                cell=cell,
                on_cell=partial(_choose, key),
                on_window=partial(_choose_box, data, key) if is_group else None,
                stays_whole=True,
                link="interventions",
            )


def code(data: InterventionsData) -> list[Print]:
    """Return the lines that print both patterns."""
    attention, place = data.view.attention, (data.view.layer, data.view.head)
    before, after = data.base_recipe.forced.patterns, data.result_recipe.patterns
    return [Print(of[attention][place], "[query, key]") for of in (before, after)]


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
