"""Dropout on the pattern: which weights training drops, how the others are scaled up, and how the output changes."""

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from headlight.analysis.heads.table import matrix_csv
from headlight.figures import TokenGrid
from headlight.figures.heatmaps.number_panels import number_panels
from headlight.language import say, say_number
from pages.learn import head_choice
from pages.learn.masks import view_fields
from pages.learn.masks.data import MasksData
from pages.shared import code_expander, prose
from pages.shared.answer import NO_HEAD
from pages.shared.drawing import draw
from pages.shared.glossary.links import definitions
from pages.shared.heads import head_in_words
from pages.shared.recipe import Expression, Print, Unwritten, call, script, value_of
from transformer_core.errors import mark

if TYPE_CHECKING:
    from headlight.analysis.masks.dropout import DropoutOutcome

CLAIM = mark(
    "In training, dropout sets each attention weight to 0 with probability p and multiplies the others by 1 / (1 − p), "
    "so that the expected value of each weight stays the same. A row then no longer sums to 1. At inference nothing is "
    "dropped. Here the model runs once with dropout on the pattern of every attention, in every layer, as in training."
)
ROWS = mark(
    "p = {p:.2f}: {n} of {all} non-zero weights are dropped; the others are multiplied by {scale:.3f}. Row sums of "
    "the pattern now range from {low:.2f} to {high:.2f}."
)
LOOK_FOR = mark(
    "a row that puts all its weight on one key loses everything when this one is dropped; a row that spreads its "
    "weight loses little. Raise p, or choose another seed: other weights are dropped, and other predictions change."
)


def show(data: MasksData) -> None:
    """Draw the part."""
    _controls(data)
    recipe = data.dropped(view_fields.DROPOUT.value, view_fields.SEED.value)
    outcome: DropoutOutcome = value_of(recipe)
    _figure(data, recipe)
    prose.html("<p class='hl-masks-about'>{}</p>", say(CLAIM))
    _rows(outcome)
    _outputs(data, outcome)
    prose.look_for(say(LOOK_FOR), definitions("dropout"))
    code_expander.code(lambda: script(*_printed(recipe)))


def _printed(dropped: Expression) -> list[Print]:
    return [
        Print(dropped.keep, "[query, key]: 0 where a weight is dropped, else 1 / (1 - p)"),
        Print(dropped.dropped_pattern, "[query, key]"),
        Print((dropped.before.mean_probability, dropped.now.mean_probability)),
    ]


def _controls(data: MasksData) -> None:
    p, seed = view_fields.DROPOUT, view_fields.SEED
    folded = {"label_visibility": "collapsed", "width": 96}
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="hl-masks-dropout"):
        prose.label(say("Dropout p"))
        p.slider(say("Dropout p"), 0.0, view_fields.MOST_DROPOUT, step=0.05, shown=float(p.value), **folded)
        prose.label(say("Seed"))
        seed.number(say("Seed"), 0, 999_999, **folded)
        head_choice.attention(data.card, take=view_fields.choose_attention)
        head_choice.head(data.card)


def _figure(data: MasksData, dropped: Expression) -> None:
    """Draw the pattern before dropout, the kept weights, and the pattern after dropout."""
    outcome: DropoutOutcome = value_of(dropped)
    queries, keys = data.alone.sides(data.view.attention)
    title = say("Pattern with dropout, {who}", who=head_in_words(*data.view.head_name))
    grid = call(TokenGrid, queries, keys, query_name=say("query"), key_name=say("key"), width=Unwritten(700))
    names = say("Pattern before"), say("Dropout mask: 1 = kept"), say("Pattern after")
    kept = call(np.greater, dropped.keep, 0).astype(np.float32)
    panels = dict(zip(names, (dropped.pattern, kept, dropped.dropped_pattern), strict=True))
    places = [f"{index} {label}" for index, label in enumerate(queries)]
    columns = [f"{index} {label}, {panel}" for panel in names for index, label in enumerate(keys)]
    draw(
        call(number_panels, panels, grid, title=title, limits=(0.0, 1.0)),  # the same colors for every p
        Print(dropped.pattern, "[query, key]"),
        *_printed(dropped),
        title=title,
        name=data.file_name("dropout"),
        key="masks-dropout-figure",
        csv=lambda: matrix_csv(np.hstack(value_of([*panels.values()])), "query", places, "key", columns, "weight"),
        arrays=lambda: {"pattern": outcome.pattern, "keep": outcome.keep, "after": outcome.dropped_pattern},
        model=data.card.path,
    )


def _rows(outcome: "DropoutOutcome") -> None:
    p, is_there = view_fields.DROPOUT.value, outcome.pattern > 0
    sums = outcome.dropped_pattern.sum(axis=1)
    says = say(
        ROWS,
        p=p,
        n=int((is_there & (outcome.keep == 0)).sum()),
        all=int(is_there.sum()),
        scale=1 / (1 - p),
        low=float(sums.min()),
        high=float(sums.max()),
    )
    if outcome.dropped_pattern.max() > 1:
        says += f" {say('Weights above 1 are drawn in the color of 1.')}"
    prose.html("<p class='hl-masks-fact'>{}</p>", says)


def _outputs(data: MasksData, outcome: "DropoutOutcome") -> None:
    before, now = outcome.before, outcome.now
    most = float(outcome.moved.max())
    if not data.card.config.unembed:
        prose.text(f"{say(NO_HEAD)} {say('Its final states change by at most {moved:.2f}.', moved=most)}")
        return
    n_changed = sum(one != other for one, other in zip(before.best, now.best, strict=True))
    says = say_number(
        len(before.best),
        "In one forward pass: {changed} of {n} prediction changes. Mean token probability (geometric): {before:.2f} "
        "without dropout, {now:.2f} with it. Max. logit difference: {moved:.2f}.",
        "In one forward pass: {changed} of {n} predictions change. Mean token probability (geometric): {before:.2f} "
        "without dropout, {now:.2f} with it. Max. logit difference: {moved:.2f}.",
        changed=n_changed,
        before=before.mean_probability,
        now=now.mean_probability,
        moved=most,
    )
    heads = (
        *(say("position"), say("target token"), say("its probability"), say("with dropout")),
        *(say("prediction"), say("with dropout"), say("max. logit difference")),
    )
    rows = prose.each(
        "<tr class='{}'><td>{}</td><td><bdi>{}</bdi></td><td>{:.3f}</td><td>{:.3f}</td><td><bdi>{}</bdi></td>"
        "<td><bdi>{}</bdi></td><td>{:.2f}</td></tr>",
        zip(
            ["" if one == other else "hl-masks-other" for one, other in zip(before.labels, now.labels, strict=True)],
            data.alone.judged,
            data.alone.expected_labels,
            before.probability.tolist(),
            now.probability.tolist(),
            before.labels,
            now.labels,
            outcome.moved.tolist(),
            strict=True,
        ),
    )
    prose.html(
        "<p class='hl-masks-fact'>{}</p><div class='hl-masks-table' tabindex='0'>{}</div>",
        says,
        prose.table(heads, rows),
    )
