"""How a chapter is laid out: what stands beside which figure, what waits for an answer, and the ways back and on."""

from typing import Any

import pytest

from pages.learn.tour import chapter, view_fields
from pages.learn.tour.lesson_engine.lesson import BrokenLesson, Check, Choice, FigureSpec, Link, Prose, Question
from tests.pages.learn.bare import Bare
from tests.pages.learn.tour.conftest import MakeLesson
from transformer_core.errors import Message


def prose(words: str) -> Prose:
    return Prose(pieces=(words,), line=1)


def spec(kind: str) -> FigureSpec:
    return FigureSpec(kind=kind, parameters={}, lines={}, line=1)


def question(ask: str) -> Question:
    choices = (Choice(text="one", is_right=True, line=1), Choice(text="two", is_right=False, line=1))
    return Question(ask=ask, choices=choices, answer=None, within=0, tokens="", hint="", line=1)


A, B, C, Q, Q2, F, G = prose("a"), prose("b"), prose("c"), question("q"), question("q2"), spec("f"), spec("g")


@pytest.mark.parametrize(
    ("parts", "rows"),
    [
        ([A, F, B], [([A, B], [F])]),
        ([A, Q, B, F], [([A, Q], []), ([B], [F])]),
        ([A, F, Q, B], [([A, Q, B], [F])]),
        ([A, F, Q, B, Q2, C, G], [([A, Q, B, Q2], [F]), ([C], [G])]),
        ([A, Q, F, B], [([A, Q, B], [F])]),
        ([A, Q, F, B, G], [([A, Q], [F]), ([B], [G])]),
        ([Q, Q2, F], [([Q], []), ([Q2], [F])]),
        ([], [([], [])]),
        ([A, Check(claim="", holds=(), line=1), Link(page="heads", label="", fields={}, line=1)], [([A], [])]),
    ],
)
def test_after_a_question_a_new_row_begins_where_there_are_figures_for_it(parts: list[Any], rows: list[Any]):
    assert [(row.left, row.figures) for row in chapter._rows(parts)] == rows


def test_the_ways_lead_to_the_neighbours(bare: Bare, make_lesson: MakeLesson):
    three = [make_lesson(name=name, title=name.upper()) for name in "abc"]
    chapter._ways(1, three)
    back, on = bare.buttons["tour-back"], bare.buttons["tour-next"]
    assert (back["args"], back["disabled"], back["help"]) == (("a",), False, "A")
    assert (on["args"], on["label"]) == (("c",), "Next: C")
    on["on_click"](*on["args"])
    assert view_fields.LESSON.value == "c"
    bare.clear()
    chapter._ways(0, three)
    assert bare.buttons["tour-back"]["disabled"] and bare.buttons["tour-back"]["help"] is None
    assert bare.buttons["tour-next"]["args"] == ("b",)
    bare.clear()
    chapter._ways(2, three)
    assert "tour-next" not in bare.buttons and bare.buttons["tour-back"]["args"] == ("b",)


@pytest.mark.parametrize(
    ("settings", "kicker"),
    [
        ({"group": "Basics", "section": "3.2"}, "Basics · section 3.2"),
        ({"group": "Basics"}, "Basics"),
        ({"section": "3.2"}, "section 3.2"),
        ({}, ""),
    ],
)
def test_above_a_title_stand_its_group_and_its_section(
    bare: Bare, make_lesson: MakeLesson, settings: dict[str, str], kicker: str
):
    chapter._heading(make_lesson(**settings))
    assert f"<p class='hl-tour-kicker'>{kicker}</p><h2 class='hl-tour-title'>Made</h2>" in bare.words


def test_a_broken_chapter_says_why(bare: Bare):
    broken = BrokenLesson(name="b", file="b.md", title="B", group="", why=Message("line 3 of b.md is no part"))
    chapter.show(broken, place=0, all_lessons=[broken])
    assert "This lesson cannot be read. line 3 of b.md is no part." in bare.words and "tour-back" in bare.buttons


def test_what_is_after_a_question_waits_for_its_answer(bare: Bare, make_lesson: MakeLesson):
    lesson = make_lesson(prose("first words"), question("how many?"), prose("later words"), question("and then?"))
    chapter._parts(lesson)
    assert "first words" in bare.words and "how many?" in bare.words and "later words" not in bare.words
    assert f"tour-{lesson.name}-0-show" in bare.buttons
    bare.clear()
    view_fields.answer(lesson.name, 0, None)
    chapter._parts(lesson)
    assert "later words" in bare.words and "and then?" in bare.words
    assert f"tour-{lesson.name}-1-show" in bare.buttons and f"tour-{lesson.name}-0-show" not in bare.buttons
