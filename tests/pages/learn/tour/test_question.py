"""A question of a chapter: how it is asked, and what is said of an answer."""

from types import SimpleNamespace
from typing import Any

import pytest

from pages.learn.tour import lessons, question, view_fields
from pages.learn.tour.lesson_engine.judging import Verdict
from pages.learn.tour.lesson_engine.lesson import Choice, Question
from tests.pages.learn.bare import Bare
from tests.pages.learn.tour.conftest import MakeLesson

KEY = "tour-made-{}".format


def choices(right: str, *texts: str) -> Question:
    made = tuple(Choice(text=text, is_right=text == right, line=1) for text in texts)
    return Question(ask="Which?", choices=made, answer=None, within=0, tokens="", hint="Look.", line=1)


def asked(**settings: Any) -> Question:
    usual: dict[str, Any] = {"ask": "How many?", "choices": (), "answer": None, "within": 0, "tokens": "", "hint": ""}
    return Question(**usual | settings, line=1)


EVIDENCE: Any = SimpleNamespace(
    run=SimpleNamespace(model_run=SimpleNamespace(source=("The", "cat"), target=("<bos>", "Le")))
)


def test_each_choice_answers_its_own_question_with_its_own_text(bare: Bare, make_lesson: MakeLesson):
    lesson = make_lesson()
    view_fields.answer(lesson.name, 0, "first")
    question.show(lesson, choices("b", "a", "b"), 1, EVIDENCE)
    assert bare.buttons[KEY("1-choice-1")]["args"] == ("made", 1, "b") and "Look." in bare.words
    assert bare.buttons[KEY("1-choice-0")]["label"] == "a" and "Your prediction</p>" in bare.words
    assert bare.buttons[KEY("1-show")]["args"] == ("made", 1, None)
    bare.buttons[KEY("1-choice-1")]["on_click"](*bare.buttons[KEY("1-choice-1")]["args"])
    assert view_fields.answers("made") == ("first", "b")


@pytest.mark.parametrize(
    ("given", "kinds"),
    [
        ("b", [("other", ""), ("right", "✓"), ("other", "")]),
        ("a", [("wrong", "✗"), ("right", "✓"), ("other", "")]),
        (None, [("other", ""), ("right", "✓"), ("other", "")]),
    ],
)
def test_an_answered_choice_marks_the_right_one_and_the_given_one(
    bare: Bare, make_lesson: MakeLesson, given: str | None, kinds: list[tuple[str, str]]
):
    view_fields.answer("made", 0, given)
    lesson = make_lesson()
    question.show(lesson, choices("b", "a", "b", "c"), 0, lessons.evidence_of(lesson))
    for text, (kind, mark) in zip("abc", kinds, strict=True):
        remark = "<small>your prediction</small>" if text == given else ""
        assert f"<li data-kind='{kind}'><b>{mark}</b><span>{text}</span>{remark}</li>" in bare.words
    assert "Just computed" not in bare.words and "Your prediction and the computed answer" in bare.words
    again = bare.buttons[KEY("0-again")]
    again["on_click"](*again["args"])
    assert view_fields.answers("made") == ()


@pytest.mark.parametrize(
    ("given", "is_right", "told"),
    [
        ("28", True, "Correct: 28."),
        ("27", False, "You answered 27. The correct answer is 28."),
        (None, False, "The answer is 28."),
    ],
)
def test_a_number_is_told_with_what_was_answered(
    bare: Bare, make_lesson: MakeLesson, monkeypatch: pytest.MonkeyPatch, given: str | None, is_right: bool, told: str
):
    from pages.learn.tour.lesson_engine import judging

    verdict = Verdict(is_right=is_right, right="28", is_computed=True)
    monkeypatch.setattr(judging, "judge", lambda *_: verdict)
    view_fields.answer("made", 0, given)
    question.show(make_lesson(), asked(), 0, EVIDENCE)
    assert f"<p class='hl-tour-verdict' data-right='{is_right}'>{told}</p>" in bare.words
    assert "Just computed from the model’s activations." in bare.words


@pytest.mark.parametrize(("typed", "taken"), [("28", ("28",)), ("sqrt(4)", ("sqrt(4)",)), ("many", ()), ("", ())])
def test_a_typed_number_is_taken_and_other_words_are_not(
    bare: Bare, make_lesson: MakeLesson, typed: str, taken: tuple[str, ...]
):
    bare.session[KEY("0")] = typed
    question.show(make_lesson(), asked(), 0, EVIDENCE)
    assert ("Please enter a number" in bare.words) == (typed == "many")
    bare.widgets[KEY("0")].how["on_change"]()
    assert view_fields.answers("made") == taken
    assert bare.buttons[KEY("0-take")]["label"] == "Answer"


@pytest.mark.parametrize(("side", "labels"), [("source", ["The", "cat"]), ("target", ["<bos>", "Le"])])
def test_a_token_is_chosen_among_those_of_its_side(bare: Bare, make_lesson: MakeLesson, side: str, labels: list[str]):
    question.show(make_lesson(), asked(tokens=side), 0, EVIDENCE)
    pills = bare.widgets[KEY("0")]
    assert [name.replace("\\", "").replace("\u2060", "") for name in pills.names] == labels
    pills.how["on_change"]()
    assert view_fields.answers("made") == (), "none was chosen"
    bare.session[KEY("0")] = 1
    pills.how["on_change"]()
    assert view_fields.answers("made") == (labels[1],)
