"""One head of A beside one of B, and their difference, on the tokens that both texts have."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from headlight.analysis.flow.divergence import has_choice
from headlight.analysis.heads.table import pattern_arrays, pattern_csv
from headlight.analysis.texts.side_by_side import SharedTokens, aligned_head, distance
from headlight.analysis.texts.token_alignment import ELSEWHERE, AlignedPatterns, TokenAlignment
from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.figures import Figure, TokenGrid, attention_heatmap, difference_heatmap, isolate
from headlight.figures.labels import shorten, text_width
from headlight.language import say
from pages.components import figures
from pages.explore.compare import view_fields
from pages.explore.compare.ablation import ablated_heads, method_of
from pages.explore.compare.changed import NOT_FINITE, UNCHANGED
from pages.explore.compare.data import ComparisonData
from pages.explore.compare.sides import Side, head_title
from pages.shared import prose
from pages.shared.glossary.links import definitions
from pages.shared.recipe import Expression, Print, call, named, value_of
from transformer_core.errors import mark

WIDTH, HEIGHT = 370, 400  # px that each picture is laid out for
LINK = "compare"
AXES = "[query, key], on the tokens that both texts have"
HALF_LABEL = 6  # characters of each token of a replacement, on an axis
MOST_NAMED = 4  # tokens that are named in a sentence
NAMES = {  # of queries and keys, by architecture and by where they come from
    ("encoder_decoder", "source"): mark("source"),
    ("encoder_decoder", "target"): mark("decoder input"),
    ("decoder_only", "target"): mark("text"),
    ("encoder_only", "source"): mark("text"),
}
LOOK_FOR = mark(
    "indigo cells, where B attends more than A, and orange cells, where it attends less; each row of B − A sums to "
    "zero. Point at a cell to read it in all three maps; click it to mark it."
)
DISTANCE = mark(
    "<b>Jensen-Shannon distance {apart:.2f}</b> (base 2, mean over the rows with at least two allowed keys: {n} of "
    "{all}): 0 for identical rows, 1 for rows without a common key."
)


def show(data: ComparisonData) -> None:
    """Draw the two heads and what is between them."""
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
        return [*data.outputs, *(Print(_pattern(data, i), "[query, key]") for i in range(2))]
    pair = _pair(data, shared)
    return [
        *data.outputs,
        Print(pair.difference, AXES),
        Print(call(distance, pair), "mean Jensen-Shannon distance of the rows, base 2, in [0, 1]"),
    ]


def _shared(data: ComparisonData) -> Expression:
    """Return the paired tokens of the two heads as code."""
    return named("shared", data.shared(data.a.head.attention, data.b.head.attention))


def _pair(data: ComparisonData, shared: Expression) -> Expression:
    """Return the two heads on the paired tokens as code."""
    heads = (tuple(side.head[1:]) for side in (data.a, data.b))
    return named("pair", call(aligned_head, *data.attention_maps(), shared, *heads))


def _pattern(data: ComparisonData, i: int) -> Expression:
    """Return the head of one side over its own tokens as code."""
    return data.attention_maps()[i].pattern(*data.sides[i][0].head[1:])


def _three(data: ComparisonData, shared: SharedTokens, recipe: Expression) -> None:
    """Draw A, B, and B minus A over the same axes, so that a cell is at the same place in each."""
    pair: AlignedPatterns = value_of(recipe)
    n_queries, n_keys = pair.a.shape
    cell = view_fields.CELL.value
    if cell and (cell[0] >= n_queries or cell[1] >= n_keys):
        cell = None
    mask_a, mask_b = _elsewhere_allowed(pair, shared)
    own = [_own_labels(data, side, shared, pair) for side in (0, 1)]
    replaced = _replaced(shared.queries, pair.query_labels), _replaced(shared.keys, _key_labels(pair))
    with st.container(key="hl-compare-three"):
        columns = st.columns(3, gap="small")
    look: dict[str, Any] = {"width": WIDTH, "height": HEIGHT, "marked": cell or (None, None)}
    maps = [
        attention_heatmap(
            values.astype(np.float32),
            TokenGrid(own[i][0], own[i][1], **_axes(data, i), **look),
            title=f"{data.sides[i][0].letter}: {head_title(data.sides[i][0].head)}",
            mask=mask,
        )
        for i, (values, mask) in enumerate(((pair.a, mask_a), (pair.b, mask_b)))
    ]
    grid = TokenGrid(replaced[0], replaced[1], **_axes(data, 0), **look)
    maps.append(difference_heatmap(pair.a, pair.b, grid, title="B − A", mask=pair.mask))
    _line_up(maps, (*own, replaced))
    drawn = zip(("A", "B", "difference"), (recipe.a, recipe.b, recipe.difference), (*own, replaced), strict=True)
    for column, figure, mask, (name, values, labels) in zip(
        columns, maps, (mask_a, mask_b, pair.mask), drawn, strict=True
    ):
        with column:
            _draw(data, figure, name, values, labels, mask, cell)


def _key_labels(pair: AlignedPatterns) -> tuple[str, ...]:
    """Return the labels of the columns; the one of all other keys in the reader's language."""
    return (*pair.key_labels[:-1], say(ELSEWHERE)) if pair.has_elsewhere else pair.key_labels


def _replaced(side: TokenAlignment, labels: tuple[str, ...]) -> tuple[str, ...]:
    """Return the labels with both tokens of each replacement short enough to be read on an axis."""
    short = tuple(
        "→".join(shorten(token, HALF_LABEL) for token in pair.label.split(" → ")) if pair.is_replaced else pair.label
        for pair in side.pairs
    )
    return short + labels[len(short) :]


def _line_up(maps: list[Figure], labels: Sequence[tuple[tuple[str, ...], tuple[str, ...]]]) -> None:
    """Give figures the same margins, so that their cells have one size and their rows one height.

    The browser makes the same room in each for the longest title and the longest label of all.
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


def _draw(
    data: ComparisonData,
    figure: Figure,
    name: str,
    recipe: Expression,
    labels: tuple[tuple[str, ...], tuple[str, ...]],
    mask: np.ndarray,
    cell: tuple[int, int] | None,
) -> None:
    key, side, values = f"compare-{name}", data.b if name == "B" else data.a, value_of(recipe)
    data.draw(
        figure,
        name=f"{name}-{view_fields.head_in_words(side.head)}",
        key=key,
        csv=lambda: pattern_csv(values, *labels, mask),
        arrays=lambda: pattern_arrays(values, *labels, mask),
        code=[Print(recipe, AXES)],
        height=HEIGHT,
        cell=cell,
        on_cell=lambda: view_fields.choose_cell(figures.sent_cell(key)),
        link=LINK,
    )


def _axes(data: ComparisonData, i: int) -> dict[str, Any]:
    """Return the names of the axes of a side."""
    side, model_run = data.sides[i]
    kind = ATTENTIONS[side.head.attention]
    queries, keys = (say(NAMES[model_run.architecture, part]) for part in (kind.queries_from, kind.keys_from))
    return {"query_name": say("query: {queries}", queries=queries), "key_name": say("key: {keys}", keys=keys)}


def _own_labels(
    data: ComparisonData, i: int, shared: SharedTokens, pair: AlignedPatterns
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the labels of the paired tokens as they are in one side's text."""
    queries, keys = value_of(data.labels(i, data.sides[i][0].head.attention))
    own_queries, own_keys = (
        tuple(labels[place] for place in (paired.places_b if i else paired.places_a))
        for labels, paired in ((queries, shared.queries), (keys, shared.keys))
    )
    return own_queries, (*own_keys, *_key_labels(pair)[len(own_keys) :])


def _apart(data: ComparisonData) -> None:
    """Draw two heads whose tokens cannot be paired, each over its own."""
    with st.container(key="hl-compare-two"):
        columns = st.columns(2, gap="small")
    for i, column in enumerate(columns):
        with column:
            _alone(data, i)
    prose.note(
        say(
            "The two sides share fewer than half of their tokens, too few to subtract the maps. Choose heads of the "
            "same attention, or texts with more words in common."
        )
    )


def _elsewhere_allowed(pair: AlignedPatterns, shared: SharedTokens) -> tuple[np.ndarray, np.ndarray]:
    """Return both masks; where a text has no other keys, nothing lies elsewhere, which no mask has forbidden."""
    masks = pair.mask_a.copy(), pair.mask_b.copy()
    for mask, others in zip(masks, (shared.keys.only_a, shared.keys.only_b), strict=True):
        if pair.has_elsewhere and not others:
            mask[:, -1] = True
    return masks


def _alone(data: ComparisonData, i: int) -> None:
    """Draw the head of one side over its own tokens."""
    side, model_run = data.sides[i]
    attention_maps = model_run.attention_maps[side.head.attention]
    queries, keys = model_run.labels(side.head.attention)
    recipe, mask = _pattern(data, i), attention_maps.mask(side.head.layer)
    values = value_of(recipe)
    title = f"{side.letter}: {head_title(side.head)}"
    grid = TokenGrid(queries, keys, height=HEIGHT, **_axes(data, i))
    figure = attention_heatmap(values, grid, title=title, mask=mask)
    data.draw(
        figure,
        name=f"{side.letter}-{view_fields.head_in_words(side.head)}",
        key=f"compare-own-{side.letter}",
        csv=lambda: pattern_csv(values, queries, keys, mask),
        arrays=lambda: pattern_arrays(values, queries, keys, mask),
        code=[Print(recipe, "[query, key]")],
        height=HEIGHT,
    )


def _say(data: ComparisonData, shared: SharedTokens, pair: Expression) -> None:
    """Say how far apart the heads are, what was paired, and what to look for."""
    apart, rows = value_of(call(distance, pair)), has_choice(value_of(pair).mask)
    what = _paired(shared.queries, say("queries"))
    if shared.keys != shared.queries:
        what += " " + _paired(shared.keys, say("keys"), elsewhere=say("; their weight is summed under “elsewhere”"))
    if apart < UNCHANGED:
        what = say("Both heads do the same here. {what}", what=what)
    if data.is_same and data.a.head == data.b.head:
        what = say("A and B are identical; give B a different text, model, head or ablation.")
    elif data.a.head == data.b.head and _is_off(data.b):
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


def _is_off(side: Side) -> bool:
    return method_of(side.change) == "zero" and side.head in ablated_heads(side.change)


def _paired(side: TokenAlignment, what: str, elsewhere: str = "") -> str:
    """Return how many tokens were paired, in a sentence."""
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
