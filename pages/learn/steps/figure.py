"""The figures of a head: the numbers of the chosen query with their verification, and the terms of a score."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from headlight.analysis.heads.table import matrix_csv
from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.figures import isolate
from headlight.figures.heatmaps.score_sources import score_sources_heatmap
from headlight.figures.quantities import rounded
from headlight.language import localized, say
from pages.learn.steps import view_fields
from pages.learn.steps.components.steps import At, attention_steps, steps_number, symbol_of
from pages.learn.steps.data import MOST_SHOWN, StepsData
from pages.learn.steps.step_texts import TORCH_REASONS
from pages.shared import drawing, prose
from pages.shared.recipe import Print, call, named, value_of
from pages.shared.view import state
from pages.shared.view.fields import Control
from transformer_core.errors import HeadlightError, mark

if TYPE_CHECKING:
    from headlight.analysis.flow.score_sources import ScoreSources
    from headlight.analysis.flow.stream_steps import SourceName

MOST_BESIDE = 8  # layers or heads side by side; more become a drop-down list
ASK = mark("Click any number in the figure or below it to see its formula here, with its inputs.")
CUT = mark("This text is long: {n} of its tokens are left out here.")
GENERATED = mark("These are the tokens on the Start page: {n} were generated or chosen there.")
PART = mark(
    "Showing {n_queries} queries and {n_keys} keys around the chosen query; all sums run over all {all_keys} keys."
)
ELSEWHERE = mark("{share:.0%} of this query’s attention goes to keys not shown here, most of it to {key} “{token}”.")
LEAST_ELSEWHERE = 0.01  # minimum share of attention that is reported
VERIFIED = mark("Every number on this page verified: {n:,} numbers, largest error {largest} against float64.")
VERIFIED_TWICE = mark(
    "Every number on this page verified: {n:,} numbers, largest error {largest} against float64, {torch} against "
    "{function}."
)
FAILED = mark(
    "Not every number on this page could be verified: the error of {quantity} against {reference}, {error}, is "
    "{times:.1f} times the tolerance of {dtype} on {device}."
)
INTERVENED = mark("Numbers of {quantities} are set by an intervention, so they do not follow from their formulas.")
ROUNDED = mark("The model computes in {dtype} on {device}.")
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
CAPPED = mark("The soft cap is applied after this sum.")
FROZEN = mark(
    "Layer norms in between are treated as linear, with their statistics frozen at their values on this text. "
    "Removing a source would change these statistics."
)


def controls(data: StepsData) -> None:
    """Draw the choices of attention, layer and head."""
    card, view = data.card, data.view
    with st.container(key="hl-steps-bar", horizontal=True, vertical_alignment="center", gap="small"):
        if len(card.attentions) > 1:
            _one_of(mark("Attention"), state.ATTENTION, [*card.attentions], lambda name: say(ATTENTIONS[name].title))
        _one_of(mark("Layer"), state.LAYER, range(card.n_layers(view.attention)))
        _one_of(mark("Head"), state.HEAD, range(card.config.n_heads))


def draw(data: StepsData) -> None:
    """Draw the figure."""
    config = data.card.config
    attention_steps(
        stages=data.walk.stages,
        quantities=data.quantities,
        labels=data.labels,
        shown=data.shown,
        head=data.view.head,
        n_heads=config.n_heads,
        d_head=config.d_head,
        at=At(
            stage=view_fields.STAGE.value,
            query=view_fields.QUERY.value,
            key=data.key,
            cell=view_fields.CELL.value,
        ),
        place=view_fields.PLACE,
        on_view=view_fields.on_view,
        is_self=not data.is_cross,
    )


def _one_of(label: str, choice: Control, options: Sequence[Any], name: Any = str) -> None:
    """Draw a choice of one option: a few side by side, many as a drop-down list."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", width="content"):
        if name is str:
            prose.html("<span class='hl-steps-label'>{}</span>", say(label), width="content")
        if len(options) > MOST_BESIDE:
            choice.selectbox(say(label), options, width=90, label_visibility="collapsed")
        else:
            choice.segmented(say(label), options, name=name)


def number(data: StepsData) -> None:
    """Draw the requested number; if there is none, say how to request one."""
    number = data.number
    if number is None:
        prose.small(say(ASK))
        return
    with st.container(key="hl-steps-number"):
        steps_number(number, torch_name=data.walk.proof().torch_function)
        st.button(
            say("Close"),
            key="steps-close",
            type="tertiary",
            icon=":material/close:",
            on_click=view_fields.CELL.set,
            args=(None,),
        )


def remarks(data: StepsData) -> None:
    """Say which part of the text is left out or not shown."""
    n_all = tuple(map(len, data.labels))
    n_left_out = data.model_run.n_left_out
    tokens = view_fields.TOKENS.value
    lines = [say(GENERATED, n=len(tokens))] if tokens else []
    lines += [say(CUT, n=n_left_out)] if n_left_out else []
    if max(n_all) > MOST_SHOWN:
        n_queries, n_keys = map(len, data.shown)
        lines.append(say(PART, n_queries=n_queries, n_keys=n_keys, all_keys=n_all[1]))
        lines += elsewhere(data)
    if lines:
        prose.small(" ".join(lines))


def elsewhere(data: StepsData) -> list[str]:
    """Say how much attention goes to keys that are not shown, and to which key most of it goes."""
    share = data.weight_elsewhere
    if share < LEAST_ELSEWHERE or data.strongest_key in data.shown[1]:
        return []
    key = data.strongest_key
    return [say(ELSEWHERE, share=share, key=key, token=isolate(data.labels[1][key]))]


def proof(data: StepsData) -> None:
    """Draw the line that reports whether every number was verified."""
    proof = data.walk.proof()
    where = {"dtype": proof.dtype, "device": proof.device}
    if not proof.holds:
        times, reference, worst, errors = max(
            (proof.share_of_tolerance, "float64", proof.worst, proof.errors),
            (proof.torch_share_of_tolerance, proof.torch_function, proof.torch_worst, proof.torch_errors),
        )
        error = _exponent(errors[worst])
        failed = say(FAILED, quantity=_symbol(data, worst), reference=reference, error=error, times=times, **where)
        prose.html("<p class='hl-proof hl-unproved'>{}</p>", failed)
        return
    numbers = {"n": proof.n_numbers, "largest": _exponent(proof.largest)}
    if proof.torch_errors:
        torch = _exponent(proof.torch_largest)
        words = [say(VERIFIED_TWICE, **numbers, torch=torch, function=proof.torch_function)]
    else:
        words = [say(VERIFIED, **numbers)]
    if proof.torch_reason:
        words.append(f"{say(TORCH_REASONS[proof.torch_reason])}.")
    if data.walk.intervened:
        words.append(say(INTERVENED, quantities=", ".join(_symbol(data, name) for name in data.walk.intervened)))
    if proof.dtype != "float32":
        words.append(say(ROUNDED, **where))
    prose.html("<p class='hl-proof hl-proved'>{}</p>", " ".join(words))


def _symbol(data: StepsData, name: str) -> str:
    quantities = data.walk.quantities
    return symbol_of(name, quantities[name].symbol) if name in quantities else name


def _exponent(error: float) -> str:
    return localized(error, ".1e") if error else "0"


def why(data: StepsData) -> None:
    """Draw the terms of the chosen query and key's score, and say what they add up to."""
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
        drawing.draw(
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
    payload = {"score": _number(data, data.scores), "error": f"{split.largest_error:.0e}"}
    has_bias = split.bias is not None
    lines = [say(SUM_WITH_BIAS, **payload, bias=_number(data, "bias")) if has_bias else say(SUM, **payload)]
    if not data.walk.quantities["mask"].values[data.query, data.key]:
        lines.append(say(FORBIDDEN))
    if split.cap is not None:
        lines.append(say(CAPPED))
    if split.has_frozen_norms:
        lines.append(say(FROZEN))
    return " ".join(lines)


def _number(data: StepsData, quantity: str) -> str:
    return rounded(float(data.walk.quantities[quantity].values[data.query, data.key]), 4)
