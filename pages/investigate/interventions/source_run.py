"""The source run beside the text: heads and cells are dragged from one to the other, and the causal cone is shaded."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from headlight.analysis.interventions.base import RunComparison
from headlight.analysis.interventions.records import OF_HEADS, Ablation, CellEdit, Component, Patch, StackEntry
from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.language import say
from pages.investigate.interventions import adding, edits, view_fields, words
from pages.investigate.interventions.components.source_run import Board, ConeStep, Drop, Half, sent_drop, source_run
from pages.investigate.interventions.data import STORE, InterventionsData
from pages.shared import cache, prose
from pages.shared.recipe import Print, value_of
from pages.shared.view.fields import Kept
from transformer_core.errors import HeadlightError, mark
from transformer_core.text.interface import in_one_line

KEY = "interventions-source-run"
MOST_ROWS = 64  # maximum heads of one attention; larger models show the same head of each layer
PARTS = {"heads": mark("Heads and positions"), "cells": mark("Cells of the pattern")}
ABOUT = mark(
    "Strong colors: there the activation differs most from that of your text at the paired token (‖source − yours‖ / "
    "‖yours‖). The source run reads: {text}"
)
ABOUT_CELLS = mark(
    "A cell of your text takes its weight from the source run. Whether the rest of its row is rescaled is chosen under "
    "Edit cells. The source run reads: {text}"
)
_PART = Kept("interventions-drag", "heads")


def show(data: InterventionsData) -> list[Print]:
    """Draw the boards; return the line that prints where both runs differ."""
    _PART.segmented(say("What to drag"), [*PARTS], name=lambda name: say(PARTS[name]))
    recipe = data.comparison_recipe(adding.other_text(data), _kind(data))
    try:
        compared: RunComparison = value_of(recipe)
    except HeadlightError as error:
        prose.warning(prose.sentence(error))
        return []
    cache.measure(STORE, data.base_recipe)  # more source runs are stored in it
    prose.small(say(ABOUT if _PART.value == "heads" else ABOUT_CELLS, text=in_one_line(adding.other_text(data))))
    source_run(
        [board for board, _ in _boards(data, compared)], _stacks(data), key=KEY, on_drop=lambda: _take(data, compared)
    )
    return [Print(recipe.differences, "by attention or stack: [layer, head, position], ‖there − here‖ / ‖here‖")]


def _kind(data: InterventionsData) -> Any:
    """Return the kind of the components that can be dragged; beside cells, one row for each attention layer."""
    if _PART.value != "heads":
        return "attention"
    kind = adding.kind_of(data)
    return "head" if kind in OF_HEADS else kind  # keys and values have no row for each query


def _boards(data: InterventionsData, compared: RunComparison) -> list[tuple[Board, Sequence[Component]]]:
    """Return the boards, each with the components in its rows; () for a pattern."""
    boards: list[tuple[Board, Sequence[Component]]] = [(_pattern(data, compared), ())] * (_PART.value == "cells")
    most = max(float(np.nanmax(values, initial=0.0)) for values in compared.differences.values()) or 1.0
    for stack in _orders(data):
        parts = [part for part in _parts(data, compared) if words.STACK_OF[part.attention] == stack]
        side = ATTENTIONS[stack].queries_from
        values = np.stack([compared.differences[part.attention][part.layer, _head(part)] for part in parts])
        is_pair = len({part.attention for part in parts}) > 1
        labels = [_label(part, is_pair=is_pair) for part in parts]
        board = Board(
            title=say(words.STACKS[stack]).capitalize(),
            stack=stack,
            steps=[_step(data, part) for part in parts],
            is_pattern=False,
            there=Half(rows=labels, columns=getattr(compared.run, side), values=values / most),
            here=Half(rows=labels, columns=getattr(data.run, side), values=_patched(data, parts, side)),
            rows_here=range(len(parts)),
            columns_here=_paired(compared, side),
        )
        boards.append((board, parts))
    return boards


def _pattern(data: InterventionsData, compared: RunComparison) -> Board:
    view = data.view
    attention = ATTENTIONS[view.attention]
    queries, keys = data.run.labels(view.attention)
    there = compared.patterns[view.attention][view.layer, view.head]
    sides = attention.queries_from, attention.keys_from
    rows, columns = (getattr(compared.run, side) for side in sides)
    part = Component(kind="attention", attention=view.attention, layer=view.layer)  # type: ignore[arg-type]
    return Board(
        title=f"{say(attention.title)} L{view.layer}.H{view.head}",
        stack=words.STACK_OF[view.attention],
        steps=[_step(data, part)] * len(queries),
        is_pattern=True,
        there=Half(rows=rows, columns=columns, values=there),
        here=Half(rows=queries, columns=keys, values=data.result.patterns[view.attention][view.layer, view.head]),
        rows_here=_paired(compared, sides[0]),
        columns_here=_paired(compared, sides[1]),
    )


def _parts(data: InterventionsData, compared: RunComparison) -> list[Component]:
    """Return the components that can be dragged, in the order of computation within a stack."""
    kind, parts = _kind(data), []
    differences: Mapping[Any, np.ndarray] = compared.differences  # by names of attentions, or of stacks
    for name, values in differences.items():
        n_layers, n_heads, _ = values.shape
        heads: Sequence[int | None] = [None] if kind != "head" else range(n_heads)
        if n_layers * n_heads > MOST_ROWS:
            heads = [min(data.view.head, n_heads - 1)]
        parts += [
            Component(kind=kind, attention=name, layer=layer, heads=None if head is None else (head,))
            for layer in range(n_layers)
            for head in heads
        ]
    return sorted(parts, key=lambda part: part.layer)  # self-attention stays before cross-attention


def _stacks(data: InterventionsData) -> dict[str, list[ConeStep]]:
    masks = data.run.masks
    return {
        stack: [
            ConeStep(
                mixes=what if what in ("self", "cross") else "", mask=masks[stack][layer] if what == "self" else None
            )
            for layer, what in order
        ]
        for stack, order in _orders(data).items()
    }


def _orders(data: InterventionsData) -> dict[str, list[tuple[int, str]]]:
    """Return the steps of each stack in order: layer and part."""
    config = data.card.config
    depths = {"encoder": config.n_encoder_layers, "decoder": config.n_decoder_layers}
    parts = ("resid_pre", "self", "cross", "feed_forward", "resid_post")
    has_cross = {"encoder": False, "decoder": config.has_encoder}
    return {
        stack: [(layer, part) for layer in range(depth) for part in parts if part != "cross" or has_cross[stack]]
        for stack, depth in depths.items()
        if depth
    }


def _step(data: InterventionsData, part: Component) -> int:
    """Return the index of a component among the steps of its stack."""
    of_attention = part.kind in ("head", "attention")
    what = ("cross" if part.attention == "cross" else "self") if of_attention else part.kind
    return _orders(data)[words.STACK_OF[part.attention]].index((part.layer, what))


def _head(part: Component) -> int:
    return part.heads[0] if part.heads else 0


def _label(part: Component, *, is_pair: bool) -> str:
    """Return a short label of a component; in a decoder that has both, self-attention and cross-attention differ."""
    name = f"L{part.layer}.H{_head(part)}" if part.heads else f"L{part.layer}"
    if not is_pair:
        return name
    return f"{name} {say('cross') if part.attention == 'cross' else say('self')}"


def _paired(compared: RunComparison, side: str) -> list[int | None]:
    return [compared.here(side, position) for position in range(len(getattr(compared.run, side)))]


def _patched(data: InterventionsData, parts: Sequence[Component], side: str) -> np.ndarray:
    """Return 1 where the stack replaces a component, [part, position]."""
    cells = np.zeros((len(parts), len(getattr(data.run, side))))
    for entry in data.stack.enabled:
        if not isinstance(entry, Ablation | Patch):
            continue
        at = entry.component
        for row, part in enumerate(parts):
            is_same = (at.kind, at.attention, at.layer) == (part.kind, part.attention, part.layer)
            if is_same and (at.heads is None or set(part.heads or ()) <= {*at.heads}):
                cells[row, [*at.positions] if at.positions else slice(None)] = 1.0
    return cells


def _take(data: InterventionsData, compared: RunComparison) -> None:
    drop = sent_drop(KEY)
    entry = _entry(data, compared, drop) if drop is not None else None
    if entry is not None:
        view_fields.add(entry)


def _entry(data: InterventionsData, compared: RunComparison, drop: Drop) -> StackEntry | None:
    """Return the intervention that patches a dropped component at its counterpart; None: there is no counterpart."""
    try:
        board, parts = _boards(data, compared)[drop.board]
        query = board.rows_here[drop.row]
        position = None if drop.column is None else board.columns_here[drop.column]
    except IndexError:  # nothing that the component sends
        return None
    if query is None or (position is None and (drop.column is not None or board.is_pattern)):
        return None
    view = data.view
    if board.is_pattern:
        return CellEdit(
            attention=view.attention,  # type: ignore[arg-type]
            layer=view.layer,
            heads=(view.head,),
            cells=((query, position),),
            operation="set",
            number=float(board.there.values[drop.row, drop.column]),
            renormalize=bool(edits.RENORMALIZE.value),
        )
    positions = None if position is None else (position,)
    part = replace(parts[drop.row], positions=positions)
    return Patch(component=part, text=adding.other_text(data), direction=adding.DIRECTION.value)
