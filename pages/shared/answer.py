"""What the model says to the text, beside it: what it writes, how it continues, or what it fills in."""

import html
import math
from typing import TYPE_CHECKING

import streamlit as st

from pages.shared import continuing
from pages.shared.models import ModelCard
from pages.shared.view import state
from transformer_core.errors import mark
from transformer_core.language import say

if TYPE_CHECKING:
    from transformer_core.analysis import Blank, ModelRun

LABELS = {
    "encoder_decoder": mark("Output"),
    "decoder_only": mark("Continuation"),
    "encoder_only": mark("The model fills in"),
}
MAX_BLANKS = 8  # whose candidates are shown
NO_HEAD = mark("This checkpoint has no language-modelling head, so it makes no predictions; its attention is shown.")
NO_MASK = mark("Which token id is the mask is not known without a tokenizer, so nothing is filled in.")
NO_BLANK = mark("Nothing to fill in: type ____ where the model should guess a word.")


def show(card: ModelCard, model_run: "ModelRun | None") -> None:
    """Draw the answer, if there is one yet; a target can be typed in its place, where the model takes one."""
    architecture = card.config.architecture
    if architecture == "decoder_only":
        _continuation(card, model_run)
    elif model_run is None:
        _label(LABELS[architecture])
    elif not model_run.predicts:
        _label(mark("The model"))
        st.html(f"<div class='hl-answer hl-none'>{html.escape(say(NO_HEAD))}</div>")
    elif architecture == "encoder_only":
        _label(LABELS[architecture])
        if model_run.blanks:
            _text(model_run.output)
            _candidates(model_run.blanks)
        else:
            st.html(f"<div class='hl-answer hl-none'>{html.escape(say(NO_MASK if card.reads_ids else NO_BLANK))}</div>")
    elif state.current().target is None:
        is_awaited = continuing.is_awaited()
        with _row():
            _label(LABELS[architecture], None if is_awaited else model_run)
            st.button(
                f":primary[{say('change it')}]",
                key="change-target",
                type="tertiary",
                on_click=state.set_target,
                args=(model_run.output,),
                disabled=is_awaited,
                help=say("Type what the model is made to write, and see how probable it finds that and where it looks"),
            )
        _late(card, model_run.output, is_complete=model_run.is_complete)
    else:
        with _row():
            _label(mark("Forced output"), model_run)
            st.button(
                f":primary[{say('back to its own')}]",
                key="own-target",
                type="tertiary",
                on_click=state.set_target,
                args=(None,),
            )
        state.TARGET.text(
            say("Target"),
            take=state.on_target,
            label_visibility="collapsed",
            placeholder=say("Type what the model is made to write; empty: its own"),
        )


def _continuation(card: ModelCard, model_run: "ModelRun | None") -> None:
    """Draw how a model continues the text, or, where it is not asked to, the token that it finds most probable."""
    is_wanted = state.wants_continuation(card)
    with _row():
        words = LABELS["decoder_only"] if is_wanted else mark("Most probable next token")
        _label(words, model_run if is_wanted and not continuing.is_awaited() else None)
        state.CONTINUE.toggle(
            say("Continue the text"),
            help=say("The model writes after your text, and its heads are shown on both"),
            shown=is_wanted,
            take=lambda is_on: state.set_continuation(card, is_on),
        )
    if model_run is not None and is_wanted:
        _late(card, _going_on(model_run), is_complete=model_run.is_complete)
    elif model_run is not None:
        next_token = f"<bdi>{html.escape(model_run.predicted[-1])}</bdi>"
        st.html(
            f"<div class='hl-answer'><span>{next_token} {probability(math.exp(model_run.log_probs[-1]))}</span></div>"
        )


def probability(value: float) -> str:
    """Return a probability for reading: none looks like zero that is not."""
    return f"{value:.2f}" if value >= 0.005 else say("below 0.01")


def _row() -> "st.delta_generator.DeltaGenerator":
    return st.container(key="hl-answer-row", horizontal=True, gap="small", vertical_alignment="center")


def _label(words: str, model_run: "ModelRun | None" = None) -> None:
    """Draw what stands above the answer, with how probable the model finds it."""
    remark = (
        ""
        if model_run is None or math.isnan(model_run.mean_probability)
        else say("mean token probability {p} (geometric)", p=probability(model_run.mean_probability))
    )
    st.html(f"<div class='hl-label'>{html.escape(say(words))}<span>{remark}</span></div>", width="content")


def _text(text: str, look: str = "") -> None:
    st.html(f"<div class='hl-answer {look}' dir='auto'><span>{html.escape(text)}</span></div>")


def _late(card: ModelCard, output: str, *, is_complete: bool) -> None:
    """Draw what a model wrote; where a large one is still writing, that it does."""
    if continuing.is_awaited():
        continuing.wait()
        return
    looks = {"hl-late": continuing.is_slow(card), "hl-cut": not is_complete}
    _text(output, " ".join(look for look, is_so in looks.items() if is_so))


def _going_on(model_run: "ModelRun") -> str:
    """Return what was written after a prompt, without the part of a letter that the limit may have cut."""
    shown = model_run.output.rstrip("\ufffd").strip()
    return say("… and ends here.") if model_run.is_complete and not shown else f"… {shown}"


def _candidates(blanks: "tuple[Blank, ...]") -> None:
    """Draw the most probable tokens of each blank, one line a blank."""
    lines = []
    for blank in blanks[:MAX_BLANKS]:
        words = (
            f"<span><bdi>{html.escape(candidate.label)}</bdi> {probability(candidate.probability)}</span>"
            for candidate in blank.candidates
        )
        lines.append(f"<div>{''.join(words)}</div>")
    st.html(f"<div class='hl-candidates'>{''.join(lines)}</div>")
