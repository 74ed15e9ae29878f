"""What a chapter claims, checked on the model's numbers while it is read; and the lines that check it."""

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from pages.learn.tour import lessons
from pages.shared import code_expander, prose
from transformer_core.errors import HeadlightError
from transformer_core.language import say, say_message, say_number

if TYPE_CHECKING:
    from pages.learn.tour.lesson_engine.evidence import Evidence
    from pages.learn.tour.lesson_engine.lesson import Check, Lesson, Part

CODE = """from functools import cache

import transformer_core as tc
from pages.learn.tour.lesson_engine.evidence import Evidence
from pages.learn.tour.lesson_engine.run import run
from pages.learn.tour.lesson_engine.six_words import train_six_words

model, tokenizer = tc.load({path!r})
evidence = Evidence(
    make_run=cache(lambda mistake, is_other: run(
        model, tokenizer, {other!r} if is_other else {text!r}, target={target!r}, mistake=mistake
    )),
    train=cache(lambda smoothing, is_shifted, steps: train_six_words(
        smoothing=smoothing, is_shifted=is_shifted, steps=steps, seed={seed}
    )),
    mistake={mistake!r},
)
for claim in (
{claims}):
    print(claim, evidence.ask(claim))
"""


def show(lesson: "Lesson", seen: "Sequence[Part]", evidence: "Evidence") -> None:
    """Draw what was checked, and the lines that check it."""
    from pages.learn.tour.lesson_engine.lesson import Check

    found = [part for part in seen if isinstance(part, Check)]
    failed = [why for part in found if (why := _fault(lesson, part, evidence))]
    for why in failed:
        prose.note(f"{why}.")
    n = sum(len(part.holds) for part in found)
    if found:
        told = say_number(
            n,
            "{n} statement of this chapter verified on the model’s activations",
            "{n} statements of this chapter verified on the model’s activations",
        )
        with st.expander(prose.plain(told), icon=":material/error:" if failed else ":material/verified:"):
            st.html(f"<ul class='hl-tour-checks'>{''.join(map(_line, found))}</ul>")
    told = say("This chapter is a text file, {file}. Put your own chapters into the folder lessons.", file=lesson.file)
    code_expander.code(lambda: code_of(lesson, found), told)


def code_of(lesson: "Lesson", checks: "Sequence[Check]") -> str:
    """Return the lines that check what a chapter claims; none where its model is not here."""
    from pages.learn.tour import view_fields

    try:
        card = lessons.card_of(lesson)
    except HeadlightError:
        return ""
    sources = [asked.source for check in checks for asked in check.holds] or ["d_model"]
    return CODE.format(
        path=card.path,
        text=lessons.text_of(lesson, card),
        target=lesson.target,
        other=lesson.other,
        mistake=lesson.mistake,
        seed=view_fields.seed(lesson.name) or 0,
        claims="".join(f"    {source!r},\n" for source in sources),
    )


def _fault(lesson: "Lesson", check: "Check", evidence: "Evidence") -> str:
    """Return why a check does not hold; "" where it does."""
    from pages.learn.tour.lesson_engine import judging
    from pages.learn.tour.lesson_engine.errors import LessonError

    try:
        judging.check(check, evidence)
    except LessonError as error:
        return say_message(error.of(lesson.file))
    except HeadlightError as error:
        return say("This check failed to run: {why}", why=error)
    return ""


def _line(check: "Check") -> str:
    claim = f"<span>{html.escape(check.claim)}</span>" if check.claim else ""
    code = "".join(f"<code>{html.escape(asked.source)}</code>" for asked in check.holds)
    return f"<li>{claim}{code}</li>"
