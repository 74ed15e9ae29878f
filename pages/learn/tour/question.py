"""A question of a chapter: first the question, then the answer and the correct answer."""

from collections.abc import Callable

import streamlit as st

from headlight.language import say
from pages.learn.tour import view_fields
from pages.learn.tour.lesson_engine.evidence import Evidence
from pages.learn.tour.lesson_engine.judging import AnswerVerdict, judge, number_typed
from pages.learn.tour.lesson_engine.lesson import Lesson, Question
from pages.shared import prose
from pages.shared.view.fields import Kept

MOST_TYPED = 40  # characters of a typed number


def show(lesson: Lesson, question: Question, number: int, evidence: Evidence) -> None:
    """Draw a question, or its answer.

    Raises:
        LessonError: it has no correct answer by the model's numbers.
    """
    given = view_fields.answers(lesson.name)
    is_answered = number < len(given)
    with st.container(key=f"hl-tour-question-{number}{'-answered' if is_answered else ''}", gap="small"):
        kicker = say("Your prediction") if not is_answered else say("Your prediction and the computed answer")
        prose.html("<p class='hl-tour-kicker'>{}</p>", kicker)
        prose.markdown(question.ask)
        if is_answered:
            _answered(lesson, question, number, given[number], evidence)
        else:
            _asked(lesson, question, number, evidence)


def _asked(lesson: Lesson, question: Question, number: int, evidence: Evidence) -> None:
    key = f"tour-{lesson.name}-{number}"
    if question.choices:
        for place, choice in enumerate(question.choices):
            st.button(
                prose.plain(choice.text),
                key=f"{key}-choice-{place}",
                width="stretch",
                on_click=view_fields.answer,
                args=(lesson.name, number, choice.text),
            )
    elif question.tokens:
        _tokens(lesson, question, number, evidence, key)
    else:
        ask_number(
            say("Your answer"),
            key,
            lambda typed: number_typed(typed) is not None,
            lambda typed: view_fields.answer(lesson.name, number, typed),
        )
    with st.container(horizontal=True, gap="medium", vertical_alignment="center"):
        if question.hint:
            with st.popover(say("Hint"), type="tertiary"):
                prose.markdown(question.hint)
        st.button(
            say("Reveal answer"),
            key=f"{key}-show",
            type="tertiary",
            on_click=view_fields.answer,
            args=(lesson.name, number, None),
        )


def _tokens(lesson: Lesson, question: Question, number: int, evidence: Evidence, key: str) -> None:
    """Ask for one of the tokens of a text."""
    labels: tuple[str, ...] = getattr(evidence.run.model_run, question.tokens)

    def choose() -> None:
        place = Kept(key).value
        if place is not None:
            view_fields.answer(lesson.name, number, labels[place])

    st.pills(
        say("Which token?"),
        range(len(labels)),
        format_func=lambda place: prose.plain(labels[place]),
        key=key,
        on_change=choose,
        label_visibility="collapsed",
    )


def ask_number(label: str, key: str, is_answer: Callable[[str], bool], give: Callable[[str], None]) -> None:
    """Draw an input for a number, submitted with Enter or a button.

    Args:
        label: for screen readers.
        key: of the widget.
        is_answer: whether the input is a valid answer.
        give: called with the input if it is valid.
    """

    def typed() -> str:
        return str(Kept(key).value or "")[:MOST_TYPED]

    def take() -> None:
        if is_answer(typed()):
            give(typed())

    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        st.text_input(
            prose.plain(label),
            key=key,
            on_change=take,
            placeholder=say("number, then Enter"),
            label_visibility="collapsed",
            autocomplete="off",
            width=220,
        )
        st.button(say("Answer"), key=f"{key}-take", on_click=take)
    if typed() and not is_answer(typed()):
        prose.small(say("Please enter a number, such as 28, 0.5 or sqrt(3)."))


def _answered(lesson: Lesson, question: Question, number: int, given: str | None, evidence: Evidence) -> None:
    with st.spinner(say("Computing …")):
        verdict = judge(question, evidence, given or "")
    choices = [choice.text for choice in question.choices]
    if choices:
        lines = prose.each("{}", (_choice(text, given, verdict) for text in choices))
        result = prose.markup("<ul class='hl-tour-choices'>{}</ul>", lines)
    else:
        sentence = say("The answer is {right}.", right=verdict.right)
        if given is not None and not verdict.is_right:
            sentence = say("You answered {given}. The correct answer is {right}.", given=given, right=verdict.right)
        elif verdict.is_right:
            sentence = say("Correct: {right}.", right=verdict.right)
        result = prose.markup("<p class='hl-tour-verdict' data-right='{}'>{}</p>", verdict.is_right, sentence)
    if verdict.is_computed:
        how = say("Computed live.")
        result += prose.markup("<p class='hl-small hl-tour-computed'>{}</p>", how)
    prose.html("{}", result)
    st.button(
        say("Try again"),
        key=f"tour-{lesson.name}-{number}-again",
        type="tertiary",
        on_click=view_fields.ask_again,
        args=(lesson.name, number),
    )


def _choice(text: str, given: str | None, verdict: AnswerVerdict) -> prose.Markup:
    """Return the markup of a choice after the question has been answered."""
    is_right, is_given = text == verdict.right, text == given
    kind = "right" if is_right else "wrong" if is_given else "other"
    mark = "✓" if is_right else "✗" if is_given else ""
    remark = prose.markup("<small>{}</small>", say("your prediction")) if is_given else ""
    return prose.markup("<li data-kind='{}'><b>{}</b><span>{}</span>{}</li>", kind, mark, text, remark)
