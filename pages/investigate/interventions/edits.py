"""Edits by hand: cells of a pattern, and input tokens."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import streamlit as st

from headlight.analysis.interventions.records import CellEdit, StackEntry, TokenSwap
from headlight.language import say
from pages.investigate.interventions import view_fields, words
from pages.investigate.interventions.data import InterventionsData
from pages.investigate.interventions.stack import add_button
from pages.learn import head_choice
from pages.shared import prose
from pages.shared.view.fields import Kept
from transformer_core.errors import ConfigError, mark

SCOPES = {"cell": mark("Cell"), "row": mark("Row"), "column": mark("Column"), "group": mark("Group")}
ABOUT_CELLS = mark(
    "If a cell is knocked out before the softmax, the other keys share its weight, so another cell can compensate "
    "for it. If it is set to 0 after the softmax, without rescaling, its weight is lost."
)
PICK = mark("Click a cell of the pattern, or type query and key.")
PICK_SOME = mark(
    "Click cells of the pattern, or drag a box over them, to add them to the group or remove them. You can also add "
    "a cell by its query and key."
)
_OPERATION = Kept("interventions-operation", "set")
_NUMBER, RENORMALIZE = Kept("interventions-number", 0.0), Kept("interventions-renormalize", True)
_QUERY, _KEY = Kept("interventions-query", 0), Kept("interventions-cell-key", 0)
_PLACE, _WORD = Kept("interventions-place", 0), Kept("interventions-word", "")
_SIDE = Kept("interventions-side", "source")


def cells(data: InterventionsData) -> None:
    """Draw the choices of an edit of cells."""
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        head_choice.attention(data.card)
        head_choice.head(data.card)
    queries, keys = data.run.labels(data.view.attention)
    query, key = _cell(data)
    is_group = view_fields.SCOPE.value == "group"
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        for kept, label, labels, value in ((_QUERY, say("Query"), queries, query), (_KEY, say("Key"), keys, key)):
            kept.selectbox(
                label,
                range(len(labels)),
                name=lambda i, labels=labels: f"{i} {labels[i]}",
                shown=value,
                take=lambda chosen, kept=kept: _choose(data, kept, chosen),
                width=150,
            )
        view_fields.SCOPE.segmented(say("Scope"), [*SCOPES], name=lambda name: say(SCOPES[name]))
    if is_group:
        _group(data)
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        _OPERATION.segmented(say("Operation"), [*words.OPERATIONS], name=lambda name: say(words.OPERATIONS[name]))
        if _OPERATION.value != "knock_out":
            highest = 1.0 if _OPERATION.value == "set" else 10.0
            number = min(float(_NUMBER.value), highest)
            _NUMBER.number(say("Number"), 0.0, highest, shown=number, step=0.1, width=120)
    if _OPERATION.value != "knock_out":
        RENORMALIZE.toggle(say("Rescale the rest of the row, so that it sums to 1"))
    prose.small(f"{say(PICK_SOME if is_group else PICK)} {say(ABOUT_CELLS)}")
    add_button(lambda: _edit(data), after=partial(view_fields.GROUP.set, ()))


def _group(data: InterventionsData) -> None:
    group = _cells_of_group(data)
    with st.container(horizontal=True, gap="small"):
        st.button(
            say("Add cell"),
            key="interventions-add-cell",
            icon=":material/add:",
            disabled=_cell(data) in group,
            on_click=view_fields.choose_cell,
            args=(_cell(data),),
        )
        view_fields.GROUP.multiselect(
            say("Cells of the group"),
            group,
            name=lambda cell: f"{cell[0]} → {cell[1]}",
            shown=group,
            take=lambda chosen: view_fields.GROUP.set(tuple(chosen)),
            placeholder=say("No cell yet"),
            label_visibility="collapsed",
            wrap=True,
        )


def _cells_of_group(data: InterventionsData) -> list[tuple[int, int]]:
    """Return the cells of the group that the pattern has."""
    n_queries, n_keys = map(len, data.run.labels(data.view.attention))
    return [(query, key) for query, key in view_fields.GROUP.value if query < n_queries and key < n_keys]


def _cell(data: InterventionsData) -> tuple[int, int]:
    """Return the chosen cell, within the pattern."""
    n_queries, n_keys = map(len, data.run.labels(data.view.attention))
    query, key = view_fields.CELL.value or (n_queries - 1, 0)
    return min(query, n_queries - 1), min(key, n_keys - 1)


def _choose(data: InterventionsData, kept: Kept, chosen: int) -> None:
    query, key = _cell(data)
    view_fields.CELL.set((chosen, key) if kept is _QUERY else (query, chosen))


def _edit(data: InterventionsData) -> StackEntry:
    query, key = _cell(data)
    scopes: dict[str, Sequence[tuple[int | None, int | None]]] = {
        "cell": [(query, key)],
        "row": [(query, None)],
        "column": [(None, key)],
        "group": _cells_of_group(data),
    }
    chosen = tuple(scopes[view_fields.SCOPE.value])
    if not chosen:
        raise ConfigError("the group has no cell yet; click cells of the pattern, or add them by query and key")
    operation = _OPERATION.value
    options: dict[str, Any] = {}
    if operation != "knock_out":
        options = {"number": float(_NUMBER.value), "renormalize": bool(RENORMALIZE.value)}
    view = data.view
    attention: Any = view.attention
    return CellEdit(
        attention=attention,
        layer=view.layer,
        heads=(view.head,),
        cells=chosen,
        operation=operation,
        **options,
    )


def tokens(data: InterventionsData) -> None:
    """Draw the choices of a swap of tokens."""
    sides = [side for side in ("source", "target") if getattr(data.run, side)]
    if len(sides) > 1:
        names = {"source": say("Source"), "target": say("Decoder input")}
        _SIDE.segmented(say("Side"), sides, name=names.__getitem__)
    side = _SIDE.value if _SIDE.value in sides else sides[0]
    labels = getattr(data.run, side)
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        _PLACE.selectbox(
            say("Token"),
            range(len(labels)),
            name=lambda i: f"{i} {labels[i]}",
            shown=min(int(_PLACE.value), len(labels) - 1),
            width=170,
        )
        _WORD.text(say("Replace it by"), placeholder=say("one token"), width=170)
    add_button(lambda: _swap(data, side, min(int(_PLACE.value), len(labels) - 1)))


def _swap(data: InterventionsData, side: Any, position: int) -> StackEntry:
    if not (typed := str(_WORD.value)):
        raise ConfigError("type the token that replaces it")
    replaced = data.run.inputs[0 if side == "source" else -1][position]
    token = data.input_tokenizer(side).token_of(typed, instead_of=replaced)
    return TokenSwap(side=side, positions=(position,), tokens=(token,))
