"""Where an intervention is made: a component ablated or patched, cells of a pattern edited, or input tokens swapped."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from headlight.analysis.interventions.record import MAX_TEXT_CHARS
from headlight.analysis.interventions.records import (
    OF_HEADS,
    Ablation,
    CellEdit,
    Component,
    Entry,
    Patch,
    TokenSwap,
)
from pages.investigate.interventions import averaging, view_fields, words
from pages.investigate.interventions.data import InterventionsData
from pages.learn import head_choice
from pages.shared import prose
from pages.shared.models import ModelCard
from pages.shared.view import state
from pages.shared.view.fields import Kept
from transformer_core.errors import ConfigError, HeadlightError, mark
from transformer_core.language import say, say_number
from transformer_core.text.interface import Given

TABS = {
    "ablate": mark("Ablate"),
    "cells": mark("Edit cells"),
    "patch": mark("Patch"),
    "tokens": mark("Swap tokens"),
}
ABOUT_METHOD = {
    "resample": mark(
        "The activation from another text, position by position where both have the same tokens; elsewhere, that of "
        "a random position."
    ),
    "mean": mark("The mean activation over all positions of the texts."),
    "zero": mark("A vector of zeros, which the model may never have seen: effects can be exaggerated."),
    "constant": mark(
        "The constant vector that changes the output of the text least (Li & Janson 2024): a lower bound of the effect."
    ),
}
ABOUT_DIRECTION = {
    "denoising": mark("Clean into corrupted: is the component sufficient? Your text is the corrupted one."),
    "noising": mark("Corrupted into clean: is the component necessary? Your text is the clean one."),
}
SAME_TEXT = mark("Both texts have the same tokens, so this changes nothing on its own. Type another text.")
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
OF_ATTENTION = (*OF_HEADS, "attention")  # kinds of components of one attention; others are of the encoder or decoder
_KIND, _POSITIONS = Kept("interventions-kind", "head"), Kept("interventions-positions", ())
_METHOD, DIRECTION = Kept("interventions-method", "resample"), Kept("interventions-direction", "denoising")
_OTHER = Kept("interventions-other", "")  # text; "": the usual one
_SECOND = Kept("interventions-other-second")  # after it, of a pair; "": none; None: the one of the text itself
_OPERATION = Kept("interventions-operation", "set")
_NUMBER, RENORMALIZE = Kept("interventions-number", 0.0), Kept("interventions-renormalize", True)
_QUERY, _KEY = Kept("interventions-query", 0), Kept("interventions-cell-key", 0)
_PLACE, _WORD = Kept("interventions-place", 0), Kept("interventions-word", "")
_SIDE = Kept("interventions-side", "source")
_NAME = Kept("interventions-name", "")
NOTE = Kept("interventions-note", "")  # why the last one could not be added


def show(data: InterventionsData) -> None:
    """Draw the four ways to add an intervention."""
    view_fields.ADD.segmented(say("Add an intervention"), [*TABS], name=lambda name: say(TABS[name]))
    with st.container(key="hl-interventions-add", gap="small"):
        {"ablate": _ablate, "cells": _cells, "patch": _patch, "tokens": _tokens}[view_fields.ADD.value](data)
    if note := NOTE.pop():
        prose.warning(note)


def other_text(data: InterventionsData) -> Given:
    """Return the text that values are taken from, cut to what a record holds; a pair where there is a second one."""
    first = str(_OTHER.value)[:MAX_TEXT_CHARS] or data.usual_other_text
    second = _second(data)[:MAX_TEXT_CHARS]
    return (first, second) if second else first


def _second(data: InterventionsData) -> str:
    """Return the second text of the pair that values are taken from; "": there is none."""
    if not data.card.takes_pairs:
        return ""
    return state.SECOND_TEXT.value if _SECOND.value is None else _SECOND.value


def _ablate(data: InterventionsData) -> None:
    _component(data)
    _METHOD.segmented(say("Method"), [*words.METHODS], name=lambda name: say(words.METHODS[name]))
    prose.small(say(ABOUT_METHOD[_METHOD.value]))
    if _METHOD.value == "mean":
        averaging.choose(data, other_text(data))
    elif _METHOD.value != "zero":
        _other(data)
    if _METHOD.value == "resample":
        _counterparts(data, Ablation(component=_chosen(data), method="resample", texts=(other_text(data),)))
    _button(lambda: _ablation(data))


def _ablation(data: InterventionsData) -> Entry:
    component, method = _chosen(data), _METHOD.value
    if method == "constant":
        from headlight.analysis.interventions.constants import fit_constant

        model, tokenizer = data.model()
        return fit_constant(model, tokenizer, component, [other_text(data)]).ablation
    if method == "mean":
        return averaging.mean(data, component, other_text(data))
    return Ablation(component=component, method=method, texts=() if method == "zero" else (other_text(data),))


def _patch(data: InterventionsData) -> None:
    _component(data)
    _other(data)
    _counterparts(data, _patching(data))
    DIRECTION.segmented(say("Direction"), [*words.DIRECTIONS], name=lambda name: say(words.DIRECTIONS[name]))
    prose.small(say(ABOUT_DIRECTION[DIRECTION.value]))
    _button(lambda: _patching(data))


def _patching(data: InterventionsData) -> Patch:
    return Patch(component=_chosen(data), text=other_text(data), direction=DIRECTION.value)


def _component(data: InterventionsData) -> None:
    """Draw the choice of the component, folded up: its kind, its head or layer, and its positions."""
    chosen = words.component(_chosen(data))
    with st.popover(prose.plain(chosen[0].upper() + chosen[1:]), key="interventions-component", width="stretch"):
        _KIND.selectbox(say("Component"), _kinds(data), name=lambda kind: say(words.KINDS[kind]), shown=kind_of(data))
        with st.container(horizontal=True, gap="small"):
            (head_choice.attention if kind_of(data) in OF_ATTENTION else _stack)(data.card)
            (head_choice.head if kind_of(data) in OF_HEADS else head_choice.layer)(data.card)
        labels = _labels(data)
        _POSITIONS.multiselect(
            say("Positions"),
            range(len(labels)),
            name=lambda i: f"{i} {labels[i]}" if i < len(labels) else str(i),
            shown=[i for i in _POSITIONS.value if i < len(labels)],
            take=lambda chosen: _POSITIONS.set(tuple(chosen)),
            placeholder=say("All positions"),
        )


def kind_of(data: InterventionsData) -> Any:
    """Return the kind of component that is chosen; the first one where this model has none of it."""
    kinds = _kinds(data)
    return _KIND.value if _KIND.value in kinds else kinds[0]


def _kinds(data: InterventionsData) -> list[str]:
    left_out = set() if data.card.config.d_ff else {"feed_forward"}
    if view_fields.ADD.value != "patch":
        left_out.add("pattern")  # its rows depend on their own queries and keys: cells are edited instead
    return [kind for kind in words.KINDS if kind not in left_out]


def _stack(card: ModelCard) -> None:
    """Draw the choice of the encoder or the decoder, where the model has both."""
    names = {"encoder": say("Encoder"), "decoder": say("Decoder")}
    if {*names} <= {*card.attentions}:
        state.ATTENTION.selectbox(
            say("Part of the model"),
            [*names],
            name=names.get,
            shown=words.STACK_OF[state.ATTENTION.value],
            part="stack",
            label_visibility="collapsed",
            width=140,
        )


def _labels(data: InterventionsData) -> Sequence[str]:
    """Return the labels of the positions of the chosen component."""
    queries, keys = data.run.labels(data.view.attention)
    return keys if kind_of(data) in ("key", "value") else queries


def _chosen(data: InterventionsData) -> Component:
    view, kind = data.view, kind_of(data)
    attention: Any = view.attention if kind in OF_ATTENTION else words.STACK_OF[view.attention]
    n, config = len(_labels(data)), data.card.config
    positions = tuple(i for i in _POSITIONS.value if i < n) or None
    head = view.head * config.n_kv_heads // config.n_heads if kind in ("key", "value") else view.head
    return Component(
        kind=kind,
        attention=attention,
        layer=view.layer,
        heads=(head,) if kind in OF_HEADS else None,
        positions=positions,
    )


def _other(data: InterventionsData) -> None:
    """Draw the choice of the text that values are taken from."""
    other = other_text(data)
    _OTHER.text_line(say("Take values from the text"), shown=other if isinstance(other, str) else other[0])
    if data.card.takes_pairs:
        _SECOND.text_line(
            say("Second text"),
            shown=_second(data)[:MAX_TEXT_CHARS],
            placeholder=say("Second text (optional)"),
            label_visibility="collapsed",
        )
    if max(len(_OTHER.value), len(_second(data))) > MAX_TEXT_CHARS:
        prose.small(say("Texts can have up to {n:,} characters; the rest was cut off.", n=MAX_TEXT_CHARS))


def _counterparts(data: InterventionsData, entry: Ablation | Patch) -> None:
    """Say which positions take the values of a random position of the other text, or that both texts are the same."""
    try:
        pairing, is_same = data.source_of(entry)
    except HeadlightError as error:
        prose.warning(prose.sentence(error))
        return
    positions = entry.component.positions or range(pairing.n_here)
    n = sum(position in pairing.positions for position in positions)
    if is_same:
        prose.small(say(SAME_TEXT))
    elif n == len(positions):
        prose.small(say("Every position takes the activation of its counterpart in the other text."))
    else:
        prose.small(
            say_number(
                n,
                "{n} of {n_positions} positions has a counterpart in the other text; the rest take the activation of "
                "a random position of it.",
                "{n} of {n_positions} positions have a counterpart in the other text; the rest take the activation of "
                "a random position of it.",
                n_positions=len(positions),
            )
        )


def _cells(data: InterventionsData) -> None:
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
    _button(lambda: _edit(data), after=_forget_group)


def _group(data: InterventionsData) -> None:
    """Draw the cells of the group, and what adds the one of the chosen query and key."""
    cells = _cells_of_group(data)
    with st.container(horizontal=True, gap="small"):
        st.button(
            say("Add cell"),
            key="interventions-add-cell",
            icon=":material/add:",
            disabled=_cell(data) in cells,
            on_click=view_fields.choose_cell,
            args=(_cell(data),),
        )
        view_fields.GROUP.multiselect(
            say("Cells of the group"),
            cells,
            name=lambda cell: f"{cell[0]} → {cell[1]}",
            shown=cells,
            take=lambda chosen: view_fields.GROUP.set(tuple(chosen)),
            placeholder=say("No cell yet"),
            label_visibility="collapsed",
            wrap=True,
        )


def _cells_of_group(data: InterventionsData) -> list[tuple[int, int]]:
    """Return the cells of the group that the pattern has."""
    n_queries, n_keys = map(len, data.run.labels(data.view.attention))
    return [(query, key) for query, key in view_fields.GROUP.value if query < n_queries and key < n_keys]


def _forget_group() -> None:
    view_fields.GROUP.set(())


def _cell(data: InterventionsData) -> tuple[int, int]:
    """Return the chosen cell, within the pattern."""
    n_queries, n_keys = map(len, data.run.labels(data.view.attention))
    query, key = view_fields.CELL.value or (n_queries - 1, 0)
    return min(query, n_queries - 1), min(key, n_keys - 1)


def _choose(data: InterventionsData, kept: Kept, chosen: int) -> None:
    query, key = _cell(data)
    view_fields.CELL.set((chosen, key) if kept is _QUERY else (query, chosen))


def _edit(data: InterventionsData) -> Entry:
    query, key = _cell(data)
    scopes: dict[str, Sequence[tuple[int | None, int | None]]] = {
        "cell": [(query, key)],
        "row": [(query, None)],
        "column": [(None, key)],
        "group": _cells_of_group(data),
    }
    cells = tuple(scopes[view_fields.SCOPE.value])
    if not cells:
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
        cells=cells,
        operation=operation,
        **options,
    )


def _tokens(data: InterventionsData) -> None:
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
    _button(lambda: _swap(data, side, min(int(_PLACE.value), len(labels) - 1)))


def _swap(data: InterventionsData, side: Any, position: int) -> Entry:
    if not (typed := str(_WORD.value)):
        raise ConfigError("type the token that replaces it")
    replaced = data.run.inputs[0 if side == "source" else -1][position]
    token = data.input_tokenizer(side).token_of(typed, instead_of=replaced)
    return TokenSwap(side=side, positions=(position,), tokens=(token,))


def _button(make: Callable[[], Entry], *, after: Callable[[], None] = lambda: None) -> None:
    """Draw what puts the intervention on the stack; `after` is called once it is there."""

    def add() -> None:
        try:
            view_fields.add(replace(make(), name=str(_NAME.pop()).strip()))
        except HeadlightError as error:
            NOTE.set(prose.sentence(error))
        else:
            after()

    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.button(
            say("Add to the stack"),
            key="interventions-add-it",
            type="primary",
            icon=":material/add:",
            on_click=add,
        )
        _NAME.text(say("Name"), placeholder=say("Name (optional)"), max_chars=60, label_visibility="collapsed")
