"""Tour: the paper in its own order, each idea live; predict, then see."""

import streamlit as st

from headlight.language import language, say
from pages.learn.tour import PAGE, contents, lessons, view_fields, writing
from pages.learn.tour import chapter as tour_chapter
from pages.learn.tour.components import chapter
from pages.learn.tour.knowledge import answers as test_answers
from pages.learn.tour.knowledge import form as test_form
from pages.learn.tour.lesson_engine.lesson import BrokenLesson, Lesson
from pages.shared import prose
from pages.shared.view import state
from transformer_core.errors import mark

LEAD = mark(
    "“Attention Is All You Need”, section by section, with models that run live. Each "
    "chapter asks you to predict a result before it shows it; the answers are computed from "
    "the model’s activations."
)
MOST_NAMED = 5  # of ignored files


@st.fragment
def tour() -> None:
    """Draw the contents and the open chapter; an answer or another chapter reruns only this fragment."""
    all_lessons = lessons.here()
    if not all_lessons:
        prose.note(say("There are no lessons."))
        return
    _tell_of_others()
    test = test_answers.asked()
    open_one = None if test else _open_one(all_lessons)
    name = open_one.name if open_one else view_fields.LESSON.value
    view_fields.see(name)
    with st.container(key="hl-tour"):
        left, right = st.columns([3, 13], gap="medium")
    with left:
        contents.show(all_lessons, open_one)
    with right:
        contents.show_narrow(all_lessons, open_one)
        if test:
            test_form.show(test, all_lessons[0].name)
        if open_one:
            tour_chapter.show(open_one, place=all_lessons.index(open_one), all_lessons=all_lessons)
            writing.show()
        chapter.keep(name, view_fields.answers(name))
        test_answers.keep()
    state.publish()


def _tell_of_others() -> None:
    """List the files among a teacher's lessons that are ignored for their extension."""
    if others := lessons.not_read(lessons.own_folder(), language()):
        named = ", ".join(others[:MOST_NAMED]) + (", …" if len(others) > MOST_NAMED else "")
        text = say(
            "In {folder}, only files with the extension .md are lessons; ignored: {files}. Rename "
            "lessons among them to .md, or move the files.",
            folder=str(lessons.own_folder()),
            files=named,
        )
        prose.note(text)


def _open_one(all_lessons: list[Lesson | BrokenLesson]) -> Lesson | BrokenLesson:
    """Return the lesson named in the address; the first lesson, with a note, if it does not exist."""
    wanted = view_fields.LESSON.value
    result = next((lesson for lesson in all_lessons if lesson.name == wanted), None)
    if result is None and wanted:
        text = say("There is no lesson “{name}”; showing the first one.", name=wanted[:60])
        prose.note(text)
    return result or all_lessons[0]


PAGE.show(LEAD, tour)
