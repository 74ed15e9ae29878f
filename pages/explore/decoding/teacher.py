"""Teacher forcing beside free running: the target, the model's own output, and where they diverge."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from headlight.figures import isolate
from headlight.language import say
from pages.explore.decoding import view_fields
from pages.explore.decoding.data import DecodingData, signed
from pages.explore.decoding.recipes import tokens_of
from pages.shared import answer, devices, prose
from pages.shared.glossary.links import definitions
from pages.shared.recipe import Expression, Print, each, named, value_of
from pages.shared.view import state
from pages.shared.view.fields import Kept
from transformer_core.decoding.settings import GREEDY
from transformer_core.errors import HeadlightError, mark

if TYPE_CHECKING:
    from transformer_core.decoding.decoding_step import Candidate, DecodingStep
    from transformer_core.decoding.session import Comparison

LEAD = mark(
    "With teacher forcing, as in training, the model reads the target tokens, whatever it would have generated "
    "itself. Free-running, it reads its own output."
)
BOXES = {  # by architecture: the typed text, and the placeholder
    "encoder_decoder": (mark("Target"), mark("Type a target; if empty, the current branch is used")),
    "decoder_only": (mark("Continuation"), mark("Type a continuation; if empty, the current branch is used")),
}
TYPED = {"encoder_decoder": mark("target"), "decoder_only": mark("continuation")}
N_FIRST = 3  # most probable tokens listed in the tooltip of a token
_BOX = Kept("decoding-forced", "")
_IS_NEW = Kept("decoding-forced-is-new", False)  # whether the target changed, which the bar shows too


def show(data: DecodingData) -> None:
    """Draw a box for a target, then the target and the free-running text, each token with its probability."""
    if _IS_NEW.pop():
        st.rerun()
    prose.small(say(LEAD), definitions("teacher-forcing", "mean-token-probability"))
    _box(data)
    try:
        tokens, n_left_out = _target(data)
        if not tokens:
            prose.small(say("This target has no tokens."))
            return
        with devices.on(data.source.device):
            comparison: Comparison = value_of(_comparison(data, tokens))
    except HeadlightError as error:
        prose.warning(say("This target cannot be used: {error}.", error=error))
        return
    if n_left_out:
        prose.note(say("The text is too long; only its first {n:,} tokens are used.", n=len(tokens)))
    _rows(data, comparison)


def code(data: DecodingData) -> list[Print]:
    """Return the lines that compare target and free-running text; none without a target."""
    tokens, _ = _target(data)
    if not tokens:
        return []
    comparison, labels = _comparison(data, tokens), data.recipe.tokenizer.target.labels
    forced, free = named("forced, free", comparison.whole)
    lines = []
    for steps in (forced, free):
        probabilities = each("step", steps, lambda step: step.chosen.probability)
        lines += [Print((labels(tokens_of(steps)), probabilities)), Print(steps[-1].total_log_prob, "nats in all")]
    return [*lines, Print(comparison.parting, "the position at which they part")]


def _comparison(data: DecodingData, tokens: list[int]) -> Expression:
    return named("comparison", data.recipe.session.compare_with_free_running(tokens))


def _box(data: DecodingData) -> None:
    """Draw the box for the target, and a button that copies the branch into it or clears it."""
    label, placeholder = BOXES[data.card.config.architecture]
    with st.container(horizontal=True, vertical_alignment="bottom", key="hl-forced-box"):
        _BOX.text_line(
            say(label),
            shown=_typed(data),
            take=lambda text: _choose(data, text),
            placeholder=say(placeholder),
            help=say("A space starts a new word.")
            if data.card.config.architecture == "decoder_only" and data.spaces_count
            else None,
        )
        if _typed(data):
            st.button(say("Clear"), key="decoding-forced-clear", on_click=_choose, args=(data, ""))
        else:
            steps = (*data.given, *data.branch)
            written = data.tokenizer.continuation([step.token for step in steps], len(data.given)).rstrip("\ufffd")
            st.button(
                say("Edit the output"),
                key="decoding-forced-take",
                on_click=_choose,
                args=(data, written),
                disabled=not written,
                help=say("Copies the current branch into the box for editing"),
            )


def _typed(data: DecodingData) -> str:
    return (data.view.target or "") if data.card.config.has_encoder else view_fields.CONTINUATION.value


def _choose(data: DecodingData, text: str) -> None:
    """Store the target that was typed, copied or cleared; for an encoder-decoder, it is the target of all pages."""
    if data.card.config.has_encoder:
        state.set_target(text)
        _IS_NEW.set(True)
    else:
        view_fields.CONTINUATION.set(text)


def _target(data: DecodingData) -> tuple[list[int], int]:
    """Return the tokens of the target that fit, and the number of tokens cut off."""
    typed, room = _typed(data), data.tree.max_positions - len(data.given)
    if not typed:
        return [step.token for step in data.branch], 0
    encode_for = data.tokenizer.encode_for
    if data.card.config.has_encoder:
        tokens = encode_for(typed, "encoder_decoder")
    else:  # tokenized after the prompt, unless that changes the prompt's tokens
        before = data.view.whole_text
        between = "" if data.spaces_count else " "
        prompt, whole = (encode_for(text, "decoder_only") for text in (before, before + between + typed))
        tokens = whole[len(prompt) :] if whole[: len(prompt)] == prompt else data.tokenizer.encode(typed)
    return tokens[:room], max(0, len(tokens) - room)


def _rows(data: DecodingData, comparison: "Comparison") -> None:
    """Draw both texts, and say where they diverge."""
    n_shared = len(comparison.shared)
    forced, free = comparison.whole
    forced_labels, free_labels = data.labels(forced), data.labels(free)
    parting = n_shared if comparison.parting is not None else None
    text = say(TYPED[data.card.config.architecture]) if _typed(data) else say("branch")
    if parting is None:
        sentence = say("Free-running, the model generates exactly this {text}.", text=text)
    else:
        instead, has = (
            say(
                "“{token}” ({probability})",
                token=isolate(labels[parting]),
                probability=answer.probability(_chosen(steps[parting]).probability),
            )
            for labels, steps in ((free_labels, free), (forced_labels, forced))
        )
        message = mark("Free-running, the model generates {instead} where the {text} has {has}.")
        sentence = say(message, instead=instead, text=text, has=has)
    n_first = sum(_chosen(step).rank == 0 for step in forced)
    by_itself = say("Free-running") if data.session.sampling == GREEDY else say("Free-running (sampled)")
    is_cut = not data.tree.has_ended(free[-1])
    first_choice = say("{n_first} of {n} ranked first", n_first=n_first, n=len(forced))
    how_far = say("cut off after {n} tokens", n=len(free)) if is_cut else say("complete")
    prose.paragraph(sentence)
    prose.html(
        "<div class='hl-forced'>{}{}</div>",
        _row(data, say("Teacher forcing"), first_choice, forced, forced_labels, parting),
        _row(data, by_itself, how_far, free, free_labels, parting),
    )


def _row(
    data: DecodingData,
    name: str,
    remark: str,
    steps: "Sequence[DecodingStep]",
    labels: Sequence[str],
    parting: int | None,
) -> prose.Markup:
    """Return one text as HTML: a summary line, and its tokens."""
    tokens = prose.each(
        "<li style='--hl-p:{:.3f}' class='{}' title='{}'><bdi>{}</bdi> <small>{}</small></li>",
        (
            (p, "hl-parts" if place == parting else "", _in_words(data, step, label), label, answer.probability(p))
            for place, (step, label) in enumerate(zip(steps, labels, strict=True))
            for p in [_chosen(step).probability]
        ),
    )
    about = say("log-probability {total} nats, {remark}", total=signed(steps[-1].total_log_prob), remark=remark)
    return prose.markup(
        "<div class='hl-label'>{0}<span>{1}</span></div><ol aria-label='{0}'>{2}</ol>", name, about, tokens
    )


def _in_words(data: DecodingData, step: "DecodingStep", label: str) -> str:
    """Return the tooltip of a token: its probability and rank, and the most probable tokens."""
    assert step.decision is not None, "the given tokens are not drawn here"
    first, chosen = step.decision.candidates(N_FIRST), _chosen(step)
    names = data.tokenizer.labels([one.token for one in first])
    choices = ", ".join(
        say("“{token}” {probability}", token=isolate(name), probability=answer.probability(one.probability))
        for name, one in zip(names, first, strict=True)
    )
    return say(
        "“{token}”: probability {probability} ({nats} nats), rank {rank} (0 is the most probable). Most probable here: "
        "{choices}",
        token=isolate(label),
        probability=answer.probability(chosen.probability),
        nats=signed(step.log_prob),
        rank=chosen.rank,
        choices=choices,
    )


def _chosen(step: "DecodingStep") -> "Candidate":
    """Return the token of a step as a candidate of the model, with its probability and rank."""
    assert step.chosen is not None, "the given tokens are not drawn here"
    return step.chosen
