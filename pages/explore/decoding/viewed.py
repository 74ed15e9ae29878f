"""The output of a model that transformers computes: its tokens, and the attention of every head at a step."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from headlight.analysis.heads.table import matrix_csv
from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.figures import TokenGrid
from headlight.figures.heatmaps.decoding import LayerRows, layer_rows, step_rows
from headlight.figures.labels import isolate, shorten
from headlight.language import say
from pages.components import figures
from pages.explore.decoding import view_fields
from pages.explore.decoding.rows import KEYS, open_row
from pages.shared import code_expander, prose, readings
from pages.shared.answer import probability
from pages.shared.drawing import draw
from pages.shared.models import ModelCard
from pages.shared.recipe import Expression, Print, call, named, script, value_of
from pages.shared.view import state
from transformer_core.errors import HeadlightError, mark

if TYPE_CHECKING:
    from headlight.analysis.trace.model_run import ModelRun
    from transformer_core.decoding.decoding_step import AttentionKind

NO_OUTPUT = mark("This model generates no text, so there is no decoding to show; the Heads page shows its attention.")
LEAD_ENCODER = mark("This page shows how models generate text, token by token.")
ABOUT = mark(
    "The transformers library generated this output greedily. Other tokens, beams and branches require "
    "Headlight’s core, which does not compute this model."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class ViewedOutput:
    """A model's own output for the view's text."""

    card: ModelCard
    recipe: Expression  # the model run
    run: "ModelRun"

    @property
    def first(self) -> int:
        """The query that predicted the first generated token."""
        return self.run.n_given - 1

    @property
    def labels(self) -> tuple[str, ...]:
        """The generated tokens."""
        return self.run.following[self.first :]

    @property
    def at(self) -> int:
        """The chosen one of them."""
        return min(view_fields.STEP.value or 0, len(self.labels) - 1)

    @property
    def kinds(self) -> "tuple[AttentionKind, ...]":
        """The attentions of the decoder."""
        return ("cross", "decoder") if self.card.config.has_encoder else ("decoder",)

    def rows(self, kind: "AttentionKind") -> Expression:
        """Return the attention of the query that predicted the chosen token, as code."""
        aim = view_fields.aim(self.card.config.n_decoder_layers)
        patterns = self.recipe.attention_maps[kind].row(self.first + self.at)
        return named(f"{kind}_rows", call(layer_rows, patterns, layer=aim.layer, head=aim.head, mean=aim.mean))


def lead(card: ModelCard) -> str:
    """Return the purpose of the page for a model that transformers computes."""
    return say(ABOUT if card.config.has_decoder else LEAD_ENCODER)


@st.fragment
def show() -> None:
    """Draw the tokens, the choice of one, and the attention when it was predicted; a step reruns only this fragment."""
    card, view = state.card(), state.current()
    if not card.config.has_decoder:
        prose.note(say(NO_OUTPUT))
        return
    state.fit(card)
    recipe = readings.recipe(view.source(card, continues=True), card.config, view.text)
    try:
        with st.spinner(say("Generating …"), show_time=True):
            output = ViewedOutput(card=card, recipe=recipe, run=value_of(recipe))
    except HeadlightError as error:
        prose.warning(say("This text cannot be continued: {error}.", error=error))
        return
    _tokens(output)
    view_fields.choose_aim(card.config.n_decoder_layers, card.config.n_heads)
    for kind in output.kinds:
        _draw(output, kind)
    code_expander.code(
        lambda: script(Print(recipe.output), *(Print(output.rows(kind).values, "[row, key]") for kind in output.kinds))
    )
    state.publish()


def _tokens(output: ViewedOutput) -> None:
    """Draw the generated tokens with the chosen one marked, and the slider that chooses it."""
    at, labels = output.at, output.labels
    before, chosen, after = "".join(labels[:at]), labels[at], "".join(labels[at + 1 :])
    chance = probability(math.exp(output.run.log_probs[output.first + at]))
    prose.html(
        "<p class='hl-look' dir='auto'>{}<mark>{}</mark>{}</p><p class='hl-small'>{}</p>",
        *(before, chosen, after, say("Probability of the marked token: {p}", p=chance)),
    )
    if len(labels) > 1:
        view_fields.STEP.slider(say("Generated token"), 0, len(labels) - 1, shown=at, width=min(24 * len(labels), 600))


def _draw(output: ViewedOutput, kind: "AttentionKind") -> None:
    run, result, aim = output.run, output.rows(kind), view_fields.aim(output.card.config.n_decoder_layers)
    rows: LayerRows = value_of(result)
    query, keys = output.first + output.at, run.labels(kind)[1]
    part = say("layer means") if aim.mean == "all" else say("layer {layer}", layer=aim.layer)
    title = say(
        "{attention}, {part}: attention from “{token}”",
        attention=say(ATTENTIONS[kind].title),
        part=part,
        token=isolate(shorten(run.target[query])),
    )
    n_keys = len(keys) if kind == "cross" else query + 1
    shown, named_keys = rows.values[:, :n_keys], [f"{place} {label}" for place, label in enumerate(keys[:n_keys])]
    labels = output.recipe.labels(kind)[1][:n_keys]
    grid = call(
        TokenGrid,
        result.labels,
        labels,
        query_name=result.name,
        key_name=say(KEYS[kind]),
        marked=(result.chosen, None),
    )
    key = f"decoding-viewed-{kind}"
    draw(
        call(step_rows, result.values[:, :n_keys], grid, title=title, n_keys=None if kind == "cross" else len(keys)),
        Print(result.values[:, :n_keys], "[row, key]"),
        title=title,
        name=f"{output.card.name}-decoding-{kind}-step{output.at}",
        key=key,
        csv=lambda: matrix_csv(shown, rows.name, rows.labels, "key", named_keys, "weight"),
        arrays=lambda: {"rows": shown},
        model=output.card.path,
        on_cell=lambda: open_row(figures.sent_cell(key), len(rows.values) - 1, aim),
    )
