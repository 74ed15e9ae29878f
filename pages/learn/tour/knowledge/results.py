"""The results of the knowledge test: question by question before and after the Tour, the gain, and a table to save."""

from typing import TYPE_CHECKING

import streamlit as st

import transformer_core as tc
from headlight.language import say, say_message
from pages.learn.tour import view_fields
from pages.learn.tour.knowledge import answers
from pages.shared import downloads, prose

if TYPE_CHECKING:
    from pages.learn.tour.lesson_engine.knowledge.item import Item
    from pages.learn.tour.lesson_engine.knowledge.sheet import Answer, When


def show() -> None:
    """Draw the results of the tests that are done; the one after the Tour is."""
    from pages.learn.tour.lesson_engine.knowledge.sheet import WHENS, n_right, questions, table

    seed = answers.seed()
    done = [when for when in WHENS if answers.is_done(when)]
    right = {when: n_right(seed, when, answers.of(when)) for when in done}
    prose.html("<p class='hl-tour-gain'>{}</p>", _gain(right, len(questions(seed, "after"))))
    with st.container(horizontal=True, gap="small"):
        downloads.button(
            say("Download (.csv)"),
            table(seed, [(when, answers.of(when)) for when in done], version=tc.__version__),
            name=f"knowledge-test-{seed}.csv",
            key="tour-test-csv",
        )
        if view_fields.TEST_SEED.value is None:
            st.button(say("New test"), key="tour-test-again", on_click=answers.begin_anew)
    _table(done)


def _gain(right: "dict[When, int]", n: int) -> str:
    """Return a sentence on the result."""
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


def _table(done: "list[When]") -> None:
    """Draw all questions with what was answered and what is correct."""
    from pages.learn.tour.lesson_engine.knowledge.ideas import IDEAS
    from pages.learn.tour.lesson_engine.knowledge.sheet import questions

    heads = {"before": say("Before the Tour"), "after": say("After the Tour")}
    rows = []
    for idea in IDEAS:
        cells = (_cell(questions(answers.seed(), when)[idea.name], answers.of(when)[idea.name]) for when in done)
        rows.append((say(idea.title), prose.joined("", cells)))
    body = prose.each("<tr><th scope='row'>{}</th>{}</tr>", rows)
    table = prose.table([say("Idea"), *(heads[when] for when in done)], body, "hl-tour-results")
    prose.html("{}", table)


def _cell(item: "Item", answer: "Answer") -> prose.Markup:
    verdict = item.judge(answer.given)
    text = say("no answer") if answer.given is None else item.words(answer.given)
    if not verdict.is_right:
        text = say("{given}; correct: {right}", given=text, right=verdict.right)
    sign, word = ("✓", say("right")) if verdict.is_right else ("✗", say("wrong"))
    return prose.markup(
        "<td data-right='{}'><b><span role='img' aria-label='{}'>{}</span> {}</b><small>{}</small></td>",
        *(verdict.is_right, word, sign, text, say_message(item.ask)),
    )
