"""The form of the knowledge test: how it begins, its questions one by one, and what there is to say at its end."""

from typing import TYPE_CHECKING

import streamlit as st

from headlight.language import say, say_message
from pages.learn.tour import view_fields
from pages.learn.tour.knowledge import answers, entry, results
from pages.shared import prose
from pages.shared.view.fields import Kept
from transformer_core.errors import mark

if TYPE_CHECKING:
    from pages.learn.tour.lesson_engine.knowledge.item import Item
    from pages.learn.tour.lesson_engine.knowledge.sheet import When

LEAD = {
    "before": mark(
        "Twelve questions, one per idea of the paper. After the Tour you answer twelve others of the same kind, and "
        "see what you have learned. The test is optional, and the answers stay in this browser."
    ),
    "after": mark(
        "Twelve questions of the same kind as before the Tour, with other numbers. Then you see your results."
    ),
}
NO_FEEDBACK = mark(
    "Answers are graded only after you have finished the test after the Tour: otherwise you would learn the answers "
    "instead of the ideas."
)
WAITS = mark(
    "All twelve questions are answered. You see the results of both tests once you have finished the one after the "
    "Tour."
)
NOT_BEFORE = mark("You have not finished the test before the Tour, so there is nothing to compare your results with.")
SEED = mark("Seed {seed}. For a class: with ?seed={seed} in the address of the Tour, everyone gets the same questions.")


def show(when: "When", first_lesson: str) -> None:
    """Draw a test, or the results where both are done.

    Args:
        when: which test is open.
        first_lesson: the name of the Tour's first lesson.
    """
    prose.html(
        "<p class='hl-tour-kicker'>{}</p><h2 class='hl-tour-title'>{}</h2>",
        say("Knowledge test · optional"),
        entry.title(),
    )
    if answers.is_done("after"):
        results.show()
    elif answers.is_done(when):
        _waiting(first_lesson)
    elif answers.is_started(when):
        _question(when)
    else:
        _beginning(when)
    prose.small(say(SEED, seed=answers.seed()))


def _beginning(when: "When") -> None:
    prose.paragraph(say(LEAD[when]))
    prose.paragraph(say(NO_FEEDBACK))
    if when == "after" and not answers.is_done("before"):
        prose.note(say(NOT_BEFORE))
    st.button(say("Start the test"), key="tour-test-start", type="primary", on_click=answers.start, args=(when,))


def _waiting(first_lesson: str) -> None:
    prose.paragraph(say(WAITS))
    with st.container(horizontal=True, gap="small"):
        st.button(
            say("Start the Tour"),
            key="tour-test-to-tour",
            type="primary",
            on_click=view_fields.go_to,
            args=(first_lesson,),
        )
        st.button(
            say("Go to the test after the Tour"),
            key="tour-test-to-after",
            on_click=view_fields.go_to,
            args=(answers.NAMES["after"],),
        )


def _question(when: "When") -> None:
    from pages.learn.tour.lesson_engine.knowledge.sheet import questions

    request, name = questions(answers.seed(), when), answers.next_question(when)
    assert name is not None, "a test that is not done has a question"
    answers.show(when, name)
    item, key = request[name], f"tour-test-{when}-{name}"
    with st.container(key=f"hl-tour-question-test-{when}", gap="small"):
        number = say("Question {number} of {n}", number=len(answers.of(when)) + 1, n=len(request))
        prose.html("<p class='hl-tour-kicker'>{}</p><p class='hl-tour-asked'>{}</p>", number, say_message(item.ask))
        if item.choices:
            for place, choice in enumerate(item.choices):
                st.button(
                    prose.plain(say_message(choice)),
                    key=f"{key}-choice-{place}",
                    width="stretch",
                    on_click=answers.give,
                    args=(when, name, str(place)),
                )
        else:
            _number(when, name, item, key)
        st.button(
            say("I don’t know"), key=f"{key}-show", type="tertiary", on_click=answers.give, args=(when, name, None)
        )


def _number(when: "When", name: str, item: "Item", key: str) -> None:
    """Ask for a number."""

    def typed() -> str:
        return str(Kept(key).value or "")[: answers.MOST_LETTERS]

    def take() -> None:
        if item.is_answer(typed()):
            answers.give(when, name, typed())

    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        st.text_input(
            prose.plain(say_message(item.ask)),
            key=key,
            on_change=take,
            placeholder=say("number, then Enter"),
            label_visibility="collapsed",
            autocomplete="off",
            width=220,
        )
        st.button(say("Answer"), key=f"{key}-take", on_click=take)
    if typed() and not item.is_answer(typed()):
        prose.small(say("Please enter a number, such as 28, 0.5 or sqrt(3)."))
