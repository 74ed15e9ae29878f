"""Why this cell? The score of the chosen query and key as the sum of what earlier parts of the model wrote for both."""

from typing import TYPE_CHECKING

import streamlit as st

from headlight.analysis.heads.table import matrix_csv
from headlight.figures import isolate
from headlight.figures.heatmaps.score_sources import score_sources_heatmap
from headlight.figures.quantities import rounded
from headlight.language import say
from pages.learn.steps.data import StepsData
from pages.shared import prose
from pages.shared.drawing import draw
from pages.shared.recipe import Print, call, named, value_of
from transformer_core.errors import HeadlightError, mark

if TYPE_CHECKING:
    from headlight.analysis.flow.score_sources import ScoreSources, SourceName

SOURCES = {
    "token": mark("token"),
    "position": mark("position"),
    "segment": mark("segment"),
    "head": mark("L{layer}.H{head}"),
    "cross": mark("cross-attention L{layer}.H{head}"),
    "feed_forward": mark("L{layer} feed-forward"),
    "bias": mark("biases"),
}
ABOUT = mark(
    "The query’s and the key’s inputs are sums: token embedding, position, and the outputs of all earlier heads and "
    "feed-forward networks. So the score is a sum over all pairs of these terms, and each cell shows what one pair "
    "contributes. Click another key in the figure above to decompose its score."
)
SUM = mark("They sum to {score}, the score before masking, to within {error}.")
SUM_WITH_BIAS = mark("They sum to {score}, to within {error}; the position bias adds {bias}.")
FORBIDDEN = mark("This key is masked, so the score has no effect.")
FROZEN = mark(
    "Layer norms in between are treated as linear, with their statistics frozen at their values on this text. "
    "Removing a source would change these statistics."
)


def show(data: StepsData) -> None:
    """Draw the cells of the chosen pair, and say what they add up to."""
    prose.html("<h2 class='hl-subtitle'>{}</h2><p class='hl-small'>{}</p>", say("Why this cell?"), say(ABOUT))
    try:
        split: ScoreSources = value_of(result := data.split)
    except HeadlightError as error:
        prose.warning(say("This score cannot be decomposed: {why}.", why=error))
        return
    cell = named("values", result.cell(data.query, data.key))
    values = value_of(cell)
    query, key = (
        say(words, token=f"{place} '{isolate(labels[place][:30])}'")
        for words, place, labels in zip(
            (mark("query {token}"), mark("key {token}")), (data.query, data.key), data.labels, strict=True
        )
    )
    of_query, of_key = ([_label(source) for source in side] for side in (split.sources_of_query, split.sources_of_key))
    title = say("Score: {query} → {key}, {head}", query=query, key=key, head=data.who)
    with st.container(key="hl-steps-why"):
        draw(
            call(score_sources_heatmap, cell, of_query, of_key, query=query, key=key, title=title),
            Print(cell, "[of the query, of the key]"),
            title=title,
            name=f"why-{data.view.attention}-{data.view.layer}-{data.view.head}-{data.query}-{data.key}",
            key="steps-why",
            csv=lambda: matrix_csv(values, "source of the query", of_query, "source of the key", of_key, "score"),
            arrays=lambda: {"score": values},
            model=data.card.path,
        )
    prose.paragraph(_sum(data, split))


def _label(source: "SourceName") -> str:
    kind = "cross" if source.attention == "cross" else source.kind
    return say(SOURCES[kind], layer=source.layer, head=source.head)


def _sum(data: StepsData, split: "ScoreSources") -> str:
    """Say what the cells add up to, and what has to be known about them."""
    payload = {"score": _number(data, data.scores), "error": f"{split.largest_error:.0e}"}
    has_bias = split.bias is not None
    lines = [say(SUM_WITH_BIAS, **payload, bias=_number(data, "bias")) if has_bias else say(SUM, **payload)]
    if not data.walk.quantities["mask"].values[data.query, data.key]:
        lines.append(say(FORBIDDEN))
    if split.has_frozen_norms:
        lines.append(say(FROZEN))
    return " ".join(lines)


def _number(data: StepsData, quantity: str) -> str:
    return rounded(float(data.walk.quantities[quantity].values[data.query, data.key]), 4)
