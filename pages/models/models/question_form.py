"""The form for options that a model's files do not determine: candidates, reasons, and the loss with each."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

import streamlit as st

from headlight.figures.architecture.inventory import field_notes
from headlight.language import localized, say, say_message
from pages.models.model_store import ImportRequest
from pages.shared import prose
from pages.shared.view.fields import Kept
from transformer_core.checkpoints.candidates import CandidateLoss, undecided_options
from transformer_core.checkpoints.layout import UndecidedError
from transformer_core.errors import HeadlightError

MOST_LISTED = 10  # combinations, the lowest losses
_TEXT = Kept("import-text", "")  # on which the losses are measured
_REQUEST = Kept("import-answered")  # the request that the answers belong to
_LOSSES = Kept("import-losses")  # of a request: (request, losses)


def show(request: ImportRequest, error: UndecidedError, discard: Callable[[], Any]) -> Mapping[str, Any] | None:
    """Draw the form; return the answers after a press on Import."""
    prose.html(
        "<div class='hl-model'>{}</div>",
        say("{model}: layout of {layout}", model=request.title, layout=error.layout),
    )
    prose.small(
        say(
            "The files do not determine every option. If you do not know one, compare the losses on text similar to "
            "the training data: the correct value has the lowest loss."
        )
    )
    conventions = [convention for convention in error.conventions if convention.others]
    answers = {question.option: Kept(f"import-answer-{question.option}") for question in error.questions}
    replaced = {one.option: Kept(f"import-convention-{one.option}", one.value) for one in conventions}
    if _REQUEST.value is not request:  # answers for another model
        for answer in (*answers.values(), *replaced.values()):
            answer.pop()
        _REQUEST.set(request)
    meanings = field_notes()
    for question in error.questions:
        with st.container(gap="xsmall"):
            prose.html("<div><b>{}</b> · {}</div>", question.option, say(meanings.get(question.option, "")))
            prose.small(say_message(question.why))
            answers[question.option].selectbox(
                question.option,
                question.candidates,
                name=_in_words,
                shown=_valid(answers[question.option].value, question.candidates),
                index=None,
                placeholder=say("Choose"),
                label_visibility="collapsed",
            )
    if conventions:
        with st.expander(say("Assumed values")):
            for convention in conventions:
                prose.small(say_message(convention.note))
                replaced[convention.option].selectbox(
                    convention.option, (convention.value, *convention.others), name=_in_words
                )
    others = {one.option: value for one in conventions if (value := replaced[one.option].value) != one.value}
    _TEXT.text_area(
        say("Text similar to the training data"),
        height=100,
        help=say("For a model that transforms one text into another: a source, a tab and a target on each line."),
    )
    chosen = {
        question.option: _valid(answers[question.option].value, question.candidates) for question in error.questions
    }
    missing = ", ".join(option for option, value in chosen.items() if value is None)
    if missing:
        prose.small(say("Before the import, choose {options}, or compare the losses.", options=missing))
    with st.container(horizontal=True):
        look: Literal["primary", "secondary"] = "secondary" if missing else "primary"
        is_complete = st.button(say("Import"), type=look, key="import-answers", disabled=bool(missing))
        is_measured = st.button(say("Compare the losses"), key="import-losses-button")
        st.button(say("Discard"), key="import-discard", on_click=discard)
    if is_measured:
        _measure(request, answers, others)
    measured = _LOSSES.value
    if measured and measured[0] is request:
        _draw_losses(measured[1], [*answers])
    return {**chosen, **others} if is_complete else None


def _measure(request: ImportRequest, answers: Mapping[str, Kept], others: Mapping[str, Any]) -> None:
    """Measure the loss with each combination of answers, and choose what the lowest one determines."""
    text = _TEXT.value.strip()
    if not text:
        prose.warning(say("Type a text first."))
        return
    try:
        with st.spinner(say("Computing the loss with each value …"), show_time=True):
            losses = replace(request, options={**request.options, **others}).losses(text)
    except HeadlightError as error:
        prose.warning(prose.sentence(error))
        return
    _LOSSES.set((request, losses))
    if losses:
        unclear = undecided_options(losses)
        for option, value in losses[0].options.items():
            answers[option].set(None if option in unclear else value)
    st.rerun()


def _draw_losses(losses: list[CandidateLoss], options: list[str]) -> None:
    """Draw the combinations with the lowest losses as a table; the lowest is marked."""
    rows = []
    for place, candidate in enumerate(losses[:MOST_LISTED]):
        values = [_in_words(candidate.options[option]) for option in options]
        if math.isinf(candidate.loss):
            rows.append(("", prose.each("<td>{}</td>", [*values, say("cannot be built")])))
        elif place:
            rows.append(("", prose.each("<td>{}</td>", [*values, localized(candidate.loss, ".3f")])))
        else:
            lowest = say("{loss:.3f} (lowest)", loss=candidate.loss)
            rows.append(("hl-lowest", prose.each("<td>{}</td>", [*values, lowest])))
    heads = [*options, say("loss (nats per token)")]
    prose.html("{}", prose.table(heads, prose.each("<tr class='{}'>{}</tr>", rows), "hl-losses"))
    if unclear := undecided_options(losses):
        prose.small(
            say(
                "These losses do not determine {options}: the text is too short or unlike the training text, or the "
                "choices differ too little.",
                options=", ".join(unclear),
            )
        )


def _valid(value: Any, candidates: tuple[Any, ...]) -> Any:
    return value if value in candidates else None


def _in_words(value: object) -> str:
    """Return a candidate as a user reads it."""
    return {True: say("yes"), False: say("no")}.get(value, str(value)) if isinstance(value, bool) else str(value)
