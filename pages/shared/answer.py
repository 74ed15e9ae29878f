"""The model's output, shown beside the text; a large model generates it in a second run of the page."""

import math
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from headlight.language import ENGLISH, localized, say, speaking
from pages.shared import prose, readings
from pages.shared.glossary.links import definitions
from pages.shared.lines import in_a_line, output_in_a_line
from pages.shared.models import ModelCard
from pages.shared.private_streamlit import session_of_run, working_for
from pages.shared.sources import Source
from pages.shared.view import state
from pages.shared.view.fields import Kept
from transformer_core.errors import HeadlightError, mark
from transformer_core.text.interface import Given

if TYPE_CHECKING:
    from headlight.analysis.trace.model_run import Blank, ModelRun

LABELS = {
    "encoder_decoder": mark("Output"),
    "decoder_only": mark("Continuation"),
    "encoder_only": mark("The model fills in"),
}
MAX_BLANKS = 8  # blanks whose candidates are shown, at most
SEEN_WHOLE = 64  # approximate number of characters that fit into the text's box
NO_HEAD = mark("This checkpoint has no language-modeling head, so it makes no predictions; its attention is shown.")
NO_CLASSES = mark("This checkpoint makes no predictions; its attention is shown.")
NO_MASK = mark("Without a tokenizer the mask token is unknown, so nothing is filled in.")
NO_BLANK = mark("Nothing to fill in: type ____ where the model should guess a word.")
NOT_AVAILABLE = mark("not available (NaN or infinite values)")
LARGE = 20_000_000  # number of parameters from which generation takes seconds
TICK = 0.3  # seconds between two checks for the output
_AWAITED = Kept("awaited-output")


def show(card: ModelCard, model_run: "ModelRun | None") -> None:
    """Draw the answer, if there is one yet, in an expandable line; a target can be typed there."""
    architecture = card.config.architecture
    if not card.config.unembed:
        line(mark("The model"), say(NO_CLASSES if card.medium else NO_HEAD), "hl-none")
    elif architecture == "decoder_only":
        _continuation(card, model_run)
    elif model_run is None:
        line(LABELS[architecture])
    elif architecture == "encoder_only":
        if model_run.has_mask and not model_run.blanks:
            line(LABELS[architecture], say(NO_BLANK), "hl-none")
        elif not is_known(model_run):
            line(LABELS[architecture], say(NOT_AVAILABLE), "hl-none")
        else:
            of_classes = mark("Predicted class") if card.medium else mark("Output")
            label = LABELS[architecture] if model_run.has_mask else of_classes
            line(label, model_run.output, more=_candidates(model_run.blanks))
    elif state.current().target is None:
        _written(card, model_run, LABELS[architecture], model_run.output)
        st.button(
            f":primary[{say('Edit the target')}]",
            key="change-target",
            type="tertiary",
            on_click=state.set_target,
            args=(model_run.output,),
            disabled=is_awaited(),
            help=say("Type your own target and see its probability and the attention under teacher forcing"),
        )
    else:
        line(mark("Forced output"), _mean_probability(model_run))
        state.TARGET.text_line(
            say("Target"),
            take=lambda typed: _take_target(card, typed),
            label_visibility="collapsed",
            placeholder=say("Type a target for teacher forcing; empty: the model’s own output"),
        )
        st.button(
            f":primary[{say('Reset')}]",
            key="own-target",
            type="tertiary",
            on_click=state.set_target,
            args=(None,),
        )


def _take_target(card: ModelCard, typed: str) -> None:
    """Set the typed target; one without tokens restores the model's own output."""
    with suppress(HeadlightError):  # the next run reports it
        _, tokenizer = state.current().source(card).load()
        typed = typed if tokenizer.target.encode(typed) else ""
    state.set_target(typed)


def _continuation(card: ModelCard, model_run: "ModelRun | None") -> None:
    """Draw the model's continuation of the text or, if none is requested, the most probable next token."""
    is_wanted = state.wants_continuation(card)
    label = LABELS["decoder_only"] if is_wanted else mark("Most probable next token")
    if model_run is None:
        line(label)
    elif is_wanted:
        _written(card, model_run, label, _going_on(model_run))
    elif math.isnan(model_run.log_probs[-1]):
        line(label, say(NOT_AVAILABLE), "hl-none")
    else:
        line(label, model_run.predicted[-1], beside=probability(math.exp(model_run.log_probs[-1])))
    state.CONTINUE.toggle(
        say("Continue the text"),
        help=say("The model continues your text; heads are shown for both"),
        shown=is_wanted,
        take=lambda is_on: state.CONTINUE.set("" if is_on == card.continues else "on" if is_on else "off"),
        width="content",
    )


def _written(card: ModelCard, model_run: "ModelRun", label: str, output: str) -> None:
    """Draw the model's output, or a notice while a large model is still generating it."""
    if is_awaited():
        wait(label)
    elif not is_known(model_run):
        line(label, say(NOT_AVAILABLE), "hl-none")
    else:
        line(label, output, "" if model_run.is_complete else "hl-cut", more=_probability_line(model_run))


def is_known(model_run: "ModelRun") -> bool:
    """Return whether at least one predicted token was computed from finite values."""
    if not model_run.not_finite:
        return True
    blanks = [blank.candidates[0].probability for blank in model_run.blanks]
    return not all(map(math.isnan, blanks)) if blanks else bool(model_run.output)


def _small(words: str, links: Sequence[prose.TermLink] = ()) -> prose.Markup:
    return prose.markup("<p class='hl-small hl-whole' dir='auto'>{}{}</p>", words, prose.linked(links))


def _probability_line(model_run: "ModelRun") -> prose.Markup | str:
    """Return a line with the mean token probability of the output and a link to its definition; "" if it is NaN."""
    words = _mean_probability(model_run)
    return _small(words, definitions("mean-token-probability")) if words else ""


def _mean_probability(model_run: "ModelRun") -> str:
    """Return the geometric mean of the target's token probabilities in words; "" if it is NaN."""
    if math.isnan(model_run.mean_probability):
        return ""
    return say("mean token probability {p} (geometric)", p=probability(model_run.mean_probability))


def probability(value: float) -> str:
    """Format a probability with two decimals; values below 0.005 read "below 0.01", NaN reads "not finite"."""
    if math.isnan(value):
        return say("not finite")
    return localized(value, ".2f") if value >= 0.005 else say("below 0.01")


def line(label: str, words: str = "", look: str = "", *, beside: str = "", more: prose.Markup | str = "") -> None:
    """Draw the answer in one line that expands to the full answer and the full text.

    Args:
        label: marked; what the answer is.
        words: the answer.
        look: how it is drawn: a class of bar.css.
        beside: the text about it in the line.
        more: shown where the line is open.
    """
    text = state.current().whole_text
    whole = _small(text) if len(text) > SEEN_WHOLE else ""
    answer = prose.markup("<span class='hl-label'>{}</span>", say(label))
    if words:
        look = f"hl-answer {look}".strip()
        answer += prose.markup("<span class='{}' dir='auto'>{}</span>{}", look, in_a_line(words), beside)
    prose.html("<details class='hl-said'><summary>{}</summary>{}{}</details>", answer, more, whole)


def _going_on(model_run: "ModelRun") -> str:
    """Return the output after a prompt, without an incomplete letter at its end."""
    shown = output_in_a_line(model_run.output)
    return say("(end of sequence)") if model_run.is_complete and not shown else f"… {shown}"


def _candidates(blanks: "tuple[Blank, ...]") -> prose.Markup:
    lines = (
        prose.each(
            "<span><bdi>{}</bdi> {}</span>", ((one.label, probability(one.probability)) for one in blank.candidates)
        )
        for blank in blanks[:MAX_BLANKS]
    )
    return prose.markup("<div class='hl-candidates'>{}</div>", prose.each("<div>{}</div>", lines))


@dataclass
class _Awaited:
    """An output that a session waits for."""

    source: Source
    text: Given
    is_drawn: bool = False  # the page without the output; generation starts afterwards, so as not to delay the heads
    future: "Future[None] | None" = None


def settle(card: ModelCard, source: Source) -> None:
    """Decide whether this run shows the output or only the text so far; call once per run, before `source` reads it."""
    view, awaited = state.current(), _AWAITED.value
    is_given = not view.continues or view.target is not None  # nothing is to be written
    is_slow = card.config.architecture != "encoder_only" and card.n_parameters >= LARGE
    is_ready = is_given or not is_slow or readings.read.holds(source, view.text)
    if awaited is not None and (is_ready or (awaited.source, awaited.text) != (source, view.text)):
        if awaited.future is not None:
            awaited.future.cancel()  # has no effect once it has started
        awaited = None
        _AWAITED.set(None)
    if is_ready or not view.text:
        return
    if awaited is not None and awaited.future is not None and awaited.future.done():
        return  # it failed or was evicted from the cache: this run generates it and reports any error
    if awaited is None:
        _AWAITED.set(_Awaited(source, view.text))
    state.CONTINUES.set(False)


def is_awaited() -> bool:
    """Whether the output is still to come."""
    return _AWAITED.value is not None and not state.current().continues


@st.fragment(run_every=TICK)
def wait(label: str) -> None:
    """Say that the output is being written, and draw the page again once it is there."""
    prose.html(
        "<p class='hl-said'><span class='hl-label'>{}</span><span class='hl-answer hl-none'>{}</span></p>",
        *(say(label), say("Generating …")),
    )
    awaited: _Awaited | None = _AWAITED.value
    if awaited is None:
        return
    if awaited.future is not None and awaited.future.done():
        st.rerun()
    if awaited.future is None and awaited.is_drawn:
        awaited.future = _writer().submit(_write, session_of_run(), awaited.source, awaited.text)
    awaited.is_drawn = True


def _write(session: str, source: Source, text: Given) -> None:
    """Run the model on a text while its session exists; the run that shows it raises any error again."""
    with working_for(session), speaking(ENGLISH), suppress(Exception):
        readings.read(source, text)


@st.cache_resource(show_spinner=False)
def _writer() -> ThreadPoolExecutor:
    """Return the executor that generates one text at a time for all sessions, so that pages stay responsive."""
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="output")
