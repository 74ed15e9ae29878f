"""The tour's table of contents: all chapters under their headings, with the finished ones and the open one marked."""

from collections.abc import Sequence
from itertools import groupby

import streamlit as st

from headlight.language import say
from pages.learn.tour import view_fields
from pages.learn.tour.knowledge import form
from pages.learn.tour.lesson_engine.lesson import BrokenLesson, Lesson
from pages.shared import prose

Lessons = Sequence[Lesson | BrokenLesson]

DONE, OPEN, BROKEN = ":material/check_circle:", ":material/radio_button_unchecked:", ":material/error:"


def n_questions(lesson: Lesson | BrokenLesson) -> int:
    """Return how many questions a lesson has; one that is broken is never done."""
    return len(getattr(lesson, "questions", (None,)))


def show(lessons: Lessons, open_one: Lesson | BrokenLesson | None) -> None:
    """Draw the contents beside the chapter."""
    with st.container(key="hl-tour-contents", gap=None):
        _entries(lessons, open_one, key="wide")
        _progress(lessons)


def show_narrow(lessons: Lessons, open_one: Lesson | BrokenLesson | None) -> None:
    """Draw the contents folded, for narrow windows."""
    with st.container(key="hl-tour-contents-narrow"):
        label = form.title()
        if open_one:
            place = lessons.index(open_one)
            label = say("{number} of {n}: {title}", number=place + 1, n=len(lessons), title=open_one.title)
        with st.popover(
            prose.plain(label), icon=":material/menu_book:", key="tour-narrow", on_change="rerun"
        ) as folded:
            if folded.open:
                with st.container(gap=None, height=460, border=False):
                    _entries(lessons, open_one, key="narrow")
                    _to_glossary()


def _entries(lessons: Lessons, open_one: Lesson | BrokenLesson | None, *, key: str) -> None:
    form.entry("before", key=key)
    number = 0
    for group, of_group in groupby(lessons, key=lambda lesson: lesson.group):
        if group:
            prose.html("<p class='hl-tour-group'>{}</p>", group)
        for lesson in of_group:
            number += 1
            is_open = lesson is open_one
            icon = DONE if view_fields.is_done(lesson.name, n_questions(lesson)) else OPEN
            icon = BROKEN if isinstance(lesson, BrokenLesson) else icon
            st.button(
                f"{prose.plain(number)}\u2002{prose.plain(lesson.title)}",
                key=f"tour-{key}-{'open' if is_open else 'other'}-{number}",
                icon=icon,
                type="tertiary",
                width="stretch",
                on_click=view_fields.go_to,
                args=(lesson.name,),
            )
    form.entry("after", key=key)


def _progress(lessons: Lessons) -> None:
    n_done = view_fields.n_done([(lesson.name, n_questions(lesson)) for lesson in lessons])
    text = say("{done} of {n} done", done=n_done, n=len(lessons))
    share = round(100 * n_done / len(lessons))
    prose.html(
        "<div class='hl-tour-progress' style='--hl-done:{}%'><i></i></div><p class='hl-small'>{}</p>", share, text
    )
    _to_glossary()


def _to_glossary() -> None:
    """Draw the link to the terms of all chapters."""
    st.page_link("learn/glossary/page.py", label=say("Glossary of all terms"), icon=":material/sort_by_alpha:")
