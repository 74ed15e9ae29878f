"""One head of A, one of B, and their difference, on the tokens that both texts share."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from headlight.analysis.flow.divergence import has_choice
from headlight.analysis.heads.table import pattern_arrays, pattern_csv
from headlight.analysis.texts.side_by_side import AlignedPatterns, SharedTokens, TokenAlignment, aligned_head
from headlight.figures import Figure, TokenGrid, attention_heatmap, difference_heatmap, isolate
from headlight.figures.labels import shorten, text_width
from headlight.language import say
from pages.components import figures
from pages.explore.compare import view_fields
from pages.explore.compare.ablation import ablated_heads, method_of
from pages.explore.compare.changed import NOT_FINITE, UNCHANGED
from pages.explore.compare.data import ComparisonData
from pages.explore.compare.sides import Side
from pages.shared import prose
from pages.shared.glossary.links import definitions
from pages.shared.heads import axis_names, head_in_words
from pages.shared.recipe import Expression, Print, call, named, value_of
from transformer_core.errors import mark

WIDTH, HEIGHT = 370, 400  # px, of each heatmap
LINK = "compare"
AXES = "[query, key], on the tokens that both texts have"
HALF_LABEL = 6  # characters shown of each of the two tokens of a replacement, on an axis
MOST_NAMED = 4  # replacements listed in a sentence
LOOK_FOR = mark(
    "indigo cells, where B attends more than A, and orange cells, where it attends less; each row of B − A sums to "
    "zero. Point at a cell to read it in all three maps; click it to mark it."
)
DISTANCE = mark(
    "<b>Jensen-Shannon distance {apart:.2f}</b> (base 2, mean over the rows with at least two allowed keys: {n} of "
    "{all}): 0 for identical rows, 1 for rows without a common key."
)


def show(data: ComparisonData) -> None:
    """Draw the two heads and their difference."""
    shared = _shared(data)
    if not value_of(shared).is_telling:
        _apart(data)
        return
    pair = _pair(data, shared)
    _three(data, value_of(shared), pair)
    _say(data, value_of(shared), pair)


def code(data: ComparisonData) -> list[Print]:
    """Return the lines that print what is shown."""
    shared = _shared(data)
    if not value_of(shared).is_telling:
        return [*data.outputs, *(Print(_pattern(side), "[query, key]") for side in data.sides)]
    pair = _pair(data, shared)
    return [
        *data.outputs,
        Print(pair.difference, AXES),
        Print(pair.distance, "mean Jensen-Shannon distance of the rows, base 2, in [0, 1]"),
    ]


def _shared(data: ComparisonData) -> Expression:
    """Return the paired tokens of the two heads as code."""
    return named("shared", data.shared(data.a.head.attention, data.b.head.attention))


def _pair(data: ComparisonData, shared: Expression) -> Expression:
    """Return the two heads on the paired tokens as code."""
    heads = (tuple(side.head[1:]) for side in data.sides)
    return named("pair", call(aligned_head, *(side.attention_maps for side in data.sides), shared, *heads))


def _pattern(side: Side) -> Expression:
    """Return the head of one side over its own tokens as code."""
    return side.attention_maps.pattern(*side.head[1:])


def _three(data: ComparisonData, shared: SharedTokens, recipe: Expression) -> None:
    """Draw A, B, and B minus A on the same axes, so that a cell has the same position in each."""
    pair: AlignedPatterns = value_of(recipe)
    cell = view_fields.CELL.value
    if cell and any(place >= n for place, n in zip(cell, pair.a.shape, strict=True)):
        cell = None
    replaced = _replaced(shared.queries, pair.query_labels), _replaced(shared.keys, _key_labels(pair))
    labels = [*(_own_labels(data, side, shared, pair) for side in data.sides), replaced]
    masks = [*_elsewhere_allowed(pair, shared), pair.mask]
    look: dict[str, Any] = {"width": WIDTH, "height": HEIGHT, "marked": cell or (None, None)}
    sides = (data.a, data.b, data.a)
    grids = [
        TokenGrid(queries, keys, **_names(side), **look) for side, (queries, keys) in zip(sides, labels, strict=True)
    ]
    maps = [
        attention_heatmap(values.astype(np.float32), grid, title=_title(side), mask=mask)
        for side, values, grid, mask in zip(data.sides, (pair.a, pair.b), grids[:2], masks[:2], strict=True)
    ]
    maps.append(difference_heatmap(pair.a, pair.b, grids[2], title="B − A", mask=pair.mask))
    _line_up(maps, labels)
    with st.container(key="hl-compare-three"):
        columns = st.columns(3, gap="small")
    values = {"A": recipe.a, "B": recipe.b, "difference": recipe.difference}
    for (name, of_map), column, side, figure, of_side, mask in zip(
        values.items(), columns, sides, maps, labels, masks, strict=True
    ):
        key = f"compare-{name}"
        with column:
            _draw(
                data,
                figure,
                name=f"{name}-{view_fields.written_head(side.head)}",
                key=key,
                table=(value_of(of_map), *of_side, mask),
                code=[Print(of_map, AXES)],
                cell=cell,
                on_cell=lambda key=key: view_fields.CELL.set(figures.sent_cell(key)),
                link=LINK,
            )


def _draw(data: ComparisonData, figure: Figure, *, table: tuple[Any, ...], **options: Any) -> None:
    """Draw a heatmap; `table`: its numbers, the labels of its rows and columns, and its mask."""
    data.draw(
        figure,
        csv=lambda: pattern_csv(*table),
        arrays=lambda: pattern_arrays(*table),
        **options,
    )


def _key_labels(pair: AlignedPatterns) -> tuple[str, ...]:
    """Return the labels of the columns; that of all other keys is in the reader's language."""
    return (*pair.key_labels, say("elsewhere")) if pair.has_elsewhere else pair.key_labels


def _replaced(side: TokenAlignment, labels: tuple[str, ...]) -> tuple[str, ...]:
    """Return the labels, with both tokens of each replacement shortened to fit on an axis."""
    short = tuple(
        "→".join(shorten(token, HALF_LABEL) for token in pair.label.split(" → ")) if pair.is_replaced else pair.label
        for pair in side.pairs
    )
    return short + labels[len(short) :]


def _line_up(maps: list[Figure], labels: Sequence[tuple[tuple[str, ...], tuple[str, ...]]]) -> None:
    """Give the figures the same margins, so that their cells have the same size and their rows line up.

    The browser reserves the same space in each figure for the longest title and the longest label of all figures.
    """
    top = max(figure.layout.margin.t for figure in maps)
    angle = min(figure.layout.xaxis.tickangle for figure in maps)
    left = 36 + max(text_width(shorten(token)) for queries, _ in labels for token in queries)
    longest = {
        "title": [figure.layout.title.text for figure in maps],
        "xaxis": [text for figure in maps for text in figure.layout.xaxis.ticktext],
    }
    for figure in maps:
        figure.update_layout(
            margin={"t": top, "l": left, "r": 62, "autoexpand": False},
            meta={**(figure.layout.meta or {}), "beside": longest},
        )
        figure.update_xaxes(tickangle=angle)
        figure.update_yaxes(automargin=False)


def _title(side: Side) -> str:
    return f"{side.letter}: {head_in_words(*side.head)}"


def _names(side: Side) -> dict[str, Any]:
    return axis_names(side.model_run.architecture, side.head.attention, medium=side.weights.source.medium)


def _own_labels(
    data: ComparisonData, side: Side, shared: SharedTokens, pair: AlignedPatterns
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the labels of the paired tokens as they are in one side's text."""
    queries, keys = (
        tuple(labels[place] for place in (paired.places_a if side is data.a else paired.places_b))
        for labels, paired in zip(
            value_of(data.labels(side, side.head.attention)), (shared.queries, shared.keys), strict=True
        )
    )
    return queries, (*keys, *_key_labels(pair)[len(keys) :])


def _apart(data: ComparisonData) -> None:
    """Draw two heads whose tokens cannot be paired, each on its own tokens."""
    with st.container(key="hl-compare-two"):
        columns = st.columns(2, gap="small")
    for column, side in zip(columns, data.sides, strict=True):
        attention, recipe = side.head.attention, _pattern(side)
        labels, mask = side.model_run.labels(attention), side.model_run.attention_maps[attention].mask(side.head.layer)
        grid = TokenGrid(*labels, height=HEIGHT, **_names(side))
        with column:
            _draw(
                data,
                attention_heatmap(value_of(recipe), grid, title=_title(side), mask=mask),
                name=f"{side.letter}-{view_fields.written_head(side.head)}",
                key=f"compare-own-{side.letter}",
                table=(value_of(recipe), *labels, mask),
                code=[Print(recipe, "[query, key]")],
            )
    prose.note(
        say(
            "The two sides share fewer than half of their tokens, too few to subtract the maps. Choose heads of the "
            "same attention, or texts with more words in common."
        )
    )


def _elsewhere_allowed(pair: AlignedPatterns, shared: SharedTokens) -> tuple[np.ndarray, np.ndarray]:
    """Return both masks; "elsewhere" counts as allowed in a text without unpaired keys, where its weight is just 0."""
    masks = pair.mask_a.copy(), pair.mask_b.copy()
    for mask, others in zip(masks, (shared.keys.only_a, shared.keys.only_b), strict=True):
        if pair.has_elsewhere and not others:
            mask[:, -1] = True
    return masks


def _say(data: ComparisonData, shared: SharedTokens, pair: Expression) -> None:
    """Say how far apart the heads are, what was paired, and what to look for."""
    apart, rows = value_of(pair).distance, has_choice(value_of(pair).mask)
    what = _paired(shared.queries, say("queries"))
    if shared.keys != shared.queries:
        what += " " + _paired(shared.keys, say("keys"), elsewhere=say("; their weight is summed under “elsewhere”"))
    if apart < UNCHANGED:
        what = say("Both heads do the same here. {what}", what=what)
    if data.is_same and data.a.head == data.b.head:
        what = say("A and B are identical; give B a different text, model, head or ablation.")
    elif (
        data.a.head == data.b.head
        and data.b.head in ablated_heads(data.b.change)
        and method_of(data.b.change) == "zero"
    ):
        what = say(
            "This head is zero-ablated in B: its output is zero, but its pattern stays the same. Look at a head in "
            "a later layer, or at the effect on the output."
        )
    if math.isfinite(apart):
        measured = prose.say_markup(DISTANCE, apart=apart, n=rows.sum(), all=rows.size)
        prose.paragraph(prose.markup("{} {}", measured, what))
        prose.look_for(say(LOOK_FOR), definitions("jensen-shannon-distance"))
    else:
        prose.note(say(NOT_FINITE))


def _paired(side: TokenAlignment, what: str, elsewhere: str = "") -> str:
    """Return a sentence that says how many tokens were paired."""
    replaced = [pair.label for pair in side.pairs if pair.is_replaced]
    alone = len(side.only_a), len(side.only_b)
    parts = [say("{n} {what} paired", n=len(side.pairs), what=what)]
    if replaced:
        named = ", ".join(isolate(label) for label in replaced[:MOST_NAMED])
        more = say(" and {n} more", n=len(replaced) - MOST_NAMED) if len(replaced) > MOST_NAMED else ""
        parts.append(say("{n} of them replaced ({named}{more})", n=len(replaced), named=named, more=more))
    if any(alone):
        parts.append(say("{n_a} only in A, {n_b} only in B", n_a=alone[0], n_b=alone[1]) + elsewhere)
    return ", ".join(parts) + "."
