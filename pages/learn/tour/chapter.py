"""A chapter: prose and live figures beside each other, questions, and what is after them once they are answered."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import streamlit as st

from headlight.language import say, say_message
from pages.learn.tour import checks, figure, lessons, question, view_fields
from pages.learn.tour.terms import TERMS
from pages.shared import prose
from pages.shared.glossary.links import definitions
from pages.shared.page import pages
from transformer_core.errors import HeadlightError

if TYPE_CHECKING:
    from pages.learn.tour.lesson_engine.evidence import Evidence
    from pages.learn.tour.lesson_engine.lesson import BrokenLesson, FigureSpec, Lesson, Part, Prose, Question


@dataclass
class Row:
    """What is drawn beside each other: texts and questions on the left, figures on the right."""

    left: "list[Prose | Question]" = field(default_factory=list)
    figures: "list[FigureSpec]" = field(default_factory=list)


def show(lesson: "Lesson | BrokenLesson", *, place: int, all_lessons: "Sequence[Lesson | BrokenLesson]") -> None:
    """Draw a chapter, or what is wrong with it."""
    from pages.learn.tour.lesson_engine.lesson import BrokenLesson

    _heading(lesson)
    if isinstance(lesson, BrokenLesson):
        prose.note(say("This lesson cannot be read. {why}.", why=lesson.why))
    else:
        _parts(lesson)
    _ways(place, all_lessons)


def _heading(lesson: "Lesson | BrokenLesson") -> None:
    section = getattr(lesson, "section", "")
    above = [lesson.group, say("section {section}", section=section) if section else ""]
    kicker = " · ".join(part for part in above if part)
    prose.html("<p class='hl-tour-kicker'>{}</p><h2 class='hl-tour-title'>{}</h2>", kicker, lesson.title)


def _parts(lesson: "Lesson") -> None:
    given = view_fields.answers(lesson.name)
    evidence = lessons.evidence_of(lesson, seed=view_fields.seed(lesson.name) or 0)
    seen = lesson.parts_up_to(len(given))
    number = 0
    for place, row in enumerate(_rows(seen)):
        with st.container(key=f"hl-tour-row-{place}"):
            columns = st.columns([10, 11], gap="medium")
        with columns[0]:
            for part in row.left:
                number = _left(lesson, part, evidence, number)
        with columns[1]:
            for at, spec in enumerate(row.figures):
                _calmly(lesson, figure.show, lesson, spec, evidence, f"{place}-{at}")
    _links(lesson, seen)
    if names := TERMS.get(lesson.name):
        prose.html("<p class='hl-small hl-tour-terms'>{}</p>", prose.linked(definitions(*names)))
    checks.show(lesson, seen, evidence)


def _left(lesson: "Lesson", part: "Prose | Question", evidence: "Evidence", number: int) -> int:
    """Draw a text or a question; return the number of the next question."""
    from pages.learn.tour.lesson_engine.lesson import Prose

    if isinstance(part, Prose):
        _calmly(lesson, _prose, lesson, part, evidence)
        return number
    _calmly(lesson, question.show, lesson, part, number, evidence)
    return number + 1


def _prose(lesson: "Lesson", part: "Prose", evidence: "Evidence") -> None:
    from pages.learn.tour.lesson_engine import judging

    if judging.needs_training(part) and not view_fields.wants_training(lesson.name):
        text = say("Train the model to see its output here.")
        prose.small(text)
        return
    prose.markdown(judging.prose(part, evidence))


def _rows(parts: "Sequence[Part]") -> list[Row]:
    """Return the parts of a chapter row by row: after a question a new one begins, where there are figures for it."""
    from pages.learn.tour.lesson_engine.lesson import FigureSpec, Prose, Question

    rows = [Row()]
    request = False
    for part in parts:
        if isinstance(part, FigureSpec):
            rows[-1].figures.append(part)
        elif isinstance(part, Prose | Question):
            if request:
                rows.append(Row())
                request = False
            rows[-1].left.append(part)
            request = isinstance(part, Question)
    joined = rows[:1]
    for row in rows[1:]:
        if row.figures:
            joined.append(row)
        else:
            joined[-1].left += row.left
    return joined


def _calmly(lesson: "Lesson", draw: Callable[..., None], *given: object) -> None:
    """Draw a part; errors in it are shown in its place, and the others are drawn all the same."""
    from pages.learn.tour.lesson_engine.errors import LessonError

    try:
        draw(*given)
    except LessonError as error:
        prose.note(f"{say_message(error.of(lesson.file))}.")
    except HeadlightError as error:
        prose.note(say("This cannot be shown: {why}.", why=error))


def _links(lesson: "Lesson", seen: "Sequence[Part]") -> None:
    """Draw the links that open other pages in the matching state."""
    from pages.learn.tour.lesson_engine.lesson import Link

    results = [part for part in seen if isinstance(part, Link)]
    if not results:
        return
    try:
        card = lessons.card_of(lesson)
    except HeadlightError:
        return  # said above
    with st.container(key="hl-tour-links", horizontal=True, gap="medium"):
        for link in results:
            st.page_link(
                pages()[link.page].script,
                label=prose.plain(link.label),
                icon=":material/arrow_outward:",
                query_params=lessons.view_of(lesson, link, card),
            )


def _ways(place: int, all_lessons: "Sequence[Lesson | BrokenLesson]") -> None:
    """Draw the ways back and on."""
    before = all_lessons[place - 1] if place else None
    following = all_lessons[place + 1] if place + 1 < len(all_lessons) else None
    with st.container(key="hl-tour-ways", horizontal=True, horizontal_alignment="distribute"):
        st.button(
            say("Back"),
            key="tour-back",
            icon=":material/arrow_back:",
            disabled=before is None,
            on_click=view_fields.go_to,
            args=(before.name if before else "",),
            help=prose.plain(before.title) if before else None,
            shortcut="Shift+Left",
        )
        if following is not None:
            st.button(
                prose.plain(say("Next: {title}", title=following.title)),
                key="tour-next",
                icon=":material/arrow_forward:",
                icon_position="right",
                type="primary",
                on_click=view_fields.go_to,
                args=(following.name,),
                shortcut="Shift+Right",
            )
