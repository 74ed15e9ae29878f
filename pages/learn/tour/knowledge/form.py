"""The knowledge test before and after the Tour: its entries in the contents, its questions, its results."""

from functools import partial

import streamlit as st

import transformer_core as tc
from headlight.language import say, say_message
from pages.learn.tour import view_fields
from pages.learn.tour.knowledge import answers
from pages.learn.tour.lesson_engine.knowledge.ideas import IDEAS
from pages.learn.tour.lesson_engine.knowledge.item import Item
from pages.learn.tour.lesson_engine.knowledge.sheet import WHENS, Answer, When, n_right, questions, table
from pages.learn.tour.question import ask_number
from pages.shared import prose
from transformer_core.errors import mark

TITLES = {"before": mark("Knowledge test before the Tour"), "after": mark("Knowledge test after the Tour")}
OPTIONAL = mark("Optional: twelve questions before and after the Tour, with other numbers.")
DONE, TO_DO = ":material/check_circle:", ":material/quiz:"
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


def title() -> str:
    """Return the name of the open test."""
    return say(TITLES[answers.asked() or "before"])


def entry(when: When, *, key: str) -> None:
    """Draw the entry of a test; `key` distinguishes the two places where the contents are drawn."""
    is_open = answers.asked() == when
    st.button(
        prose.plain(say(TITLES[when])),
        key=f"tour-{key}-{'open' if is_open else 'other'}-test-{when}",
        icon=DONE if answers.is_done(when) else TO_DO,
        type="tertiary",
        width="stretch",
        help=prose.plain(say(OPTIONAL)),
        on_click=view_fields.go_to,
        args=(answers.NAMES[when],),
    )


def show(when: When, first_lesson: str) -> None:
    """Draw a test, or the results where both are done.

    Args:
        when: which test is open.
        first_lesson: the name of the Tour's first lesson.
    """
    prose.html(
        "<p class='hl-tour-kicker'>{}</p><h2 class='hl-tour-title'>{}</h2>",
        say("Knowledge test · optional"),
        title(),
    )
    if answers.is_done("after"):
        _results()
    elif answers.is_done(when):
        _waiting(first_lesson)
    elif answers.is_started(when):
        _question(when)
    else:
        _beginning(when)
    prose.small(say(SEED, seed=answers.seed()))


def _beginning(when: When) -> None:
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


def _question(when: When) -> None:
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
            ask_number(say_message(item.ask), key, item.is_answer, partial(answers.give, when, name))
        st.button(
            say("I don’t know"), key=f"{key}-show", type="tertiary", on_click=answers.give, args=(when, name, None)
        )


def _results() -> None:
    """Draw the results of the finished tests, question by question; requires the test after the Tour to be finished."""
    seed = answers.seed()
    done = [when for when in WHENS if answers.is_done(when)]
    right = {when: n_right(seed, when, answers.of(when)) for when in done}
    prose.html("<p class='hl-tour-gain'>{}</p>", _gain(right, len(questions(seed, "after"))))
    with st.container(horizontal=True, gap="small"):
        st.download_button(
            prose.plain(say("Download (.csv)")),
            table(seed, [(when, answers.of(when)) for when in done], version=tc.__version__),
            f"knowledge-test-{seed}.csv",
            "text/csv",
            key="tour-test-csv",
            on_click="ignore",
        )
        if view_fields.TEST_SEED.value is None:
            st.button(say("New test"), key="tour-test-again", on_click=answers.begin_anew)
    _table(done)


def _gain(right: dict[When, int], n: int) -> str:
    """Return a sentence that compares the scores before and after the Tour."""
    after = right["after"]
    if "before" not in right:
        return say("After the Tour, {after} of {n} answers are correct.", after=after, n=n)
    before = right["before"]
    if after == before:
        return say("{after} of {n} answers are correct after the Tour, as many as before it.", after=after, n=n)
    if after > before:
        return say(
            "{after} of {n} answers are correct after the Tour, {more} more than before it.",
            after=after,
            n=n,
            more=after - before,
        )
    return say(
        "{after} of {n} answers are correct after the Tour, {fewer} fewer than before it.",
        after=after,
        n=n,
        fewer=before - after,
    )


def _table(done: list[When]) -> None:
    """Draw a table of all questions with the given and the correct answers."""
    heads = {"before": say("Before the Tour"), "after": say("After the Tour")}
    rows = []
    for idea in IDEAS:
        cells = (_cell(questions(answers.seed(), when)[idea.name], answers.of(when)[idea.name]) for when in done)
        rows.append((say(idea.title), prose.joined("", cells)))
    body = prose.each("<tr><th scope='row'>{}</th>{}</tr>", rows)
    table = prose.table([say("Idea"), *(heads[when] for when in done)], body, "hl-tour-results")
    prose.html("{}", table)


def _cell(item: Item, answer: Answer) -> prose.Markup:
    verdict = item.judge(answer.given)
    text = say("no answer") if answer.given is None else item.words(answer.given)
    if not verdict.is_right:
        text = say("{given}; correct: {right}", given=text, right=verdict.right)
    sign, word = ("✓", say("right")) if verdict.is_right else ("✗", say("wrong"))
    return prose.markup(
        "<td data-right='{}'><b><span role='img' aria-label='{}'>{}</span> {}</b><small>{}</small></td>",
        *(verdict.is_right, word, sign, text, say_message(item.ask)),
    )
