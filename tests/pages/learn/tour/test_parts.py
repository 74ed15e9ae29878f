"""The parts of a chapter, drawn bare: its rows, questions, figures, checks, and the instructions for teachers."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import transformer_core as tc
from pages.learn.tour import chapter, figure, lessons, question, view_fields, writing
from pages.learn.tour.lesson_engine.catalogue import KINDS
from pages.learn.tour.lesson_engine.drawn import LessonTable
from pages.learn.tour.lesson_engine.expressions import parse
from pages.learn.tour.lesson_engine.figure_kind import Slider
from pages.learn.tour.lesson_engine.judging import AnswerVerdict
from pages.learn.tour.lesson_engine.lesson import Asked, Check, Choice, FigureSpec, Link, Prose, Question
from pages.learn.tour.lesson_engine.mistakes import MISTAKES
from pages.learn.tour.lesson_engine.quantity import QUANTITIES
from pages.shared import models
from tests.pages.learn.bare import Bare, run_lines
from tests.pages.learn.tour.conftest import MakeLesson

KEY = "tour-made-{}".format


def asked(*choices: str, tokens: str = "") -> Question:
    results = tuple(Choice(text=text, is_right=text == "b", line=1) for text in choices)
    return Question(ask="Which?", choices=results, answer=None, within=0, tokens=tokens, hint="Look.", line=1)


EVIDENCE: Any = SimpleNamespace(
    run=SimpleNamespace(model_run=SimpleNamespace(source=("The", "cat"), target=("<bos>", "Le")))
)


def test_each_choice_answers_its_own_question_with_its_own_text(bare: Bare, make_lesson: MakeLesson):
    lesson = make_lesson()
    view_fields.answer(lesson.name, 0, "first")
    question.show(lesson, asked("a", "b"), 1, EVIDENCE)
    assert "Look." in bare.words and bare.buttons[KEY("1-show")]["args"] == ("made", 1, None)
    bare.buttons[KEY("1-choice-1")]["on_click"](*bare.buttons[KEY("1-choice-1")]["args"])
    assert view_fields.answers("made") == ("first", "b")


@pytest.mark.parametrize(("given", "kind", "mark"), [("b", "other", ""), ("a", "wrong", "✗"), (None, "other", "")])
def test_an_answered_choice_marks_the_right_one_and_the_given_one(
    bare: Bare, make_lesson: MakeLesson, given: str | None, kind: str, mark: str
):
    view_fields.answer("made", 0, given)
    lesson = make_lesson()
    question.show(lesson, asked("a", "b", "c"), 0, lessons.evidence_of(lesson))
    for text, of, sign in (("a", kind, mark), ("b", "right", "✓"), ("c", "other", "")):
        assert f"<li data-kind='{of}'><b>{sign}</b><span>{text}</span>" in bare.words
    again = bare.buttons[KEY("0-again")]
    again["on_click"](*again["args"])
    assert view_fields.answers("made") == ()


def test_a_typed_number_is_taken_and_other_words_are_not(bare: Bare, make_lesson: MakeLesson):
    for typed, taken in (("28", ("28",)), ("sqrt(4)", ("sqrt(4)",)), ("many", ()), ("", ())):
        bare.clear()
        view_fields.ask_again("made", 0)
        bare.session[KEY("0")] = typed
        question.show(make_lesson(), asked(), 0, EVIDENCE)
        assert ("Please enter a number" in bare.words) == (typed == "many")
        bare.widgets[KEY("0")].how["on_change"]()
        assert view_fields.answers("made") == taken
    assert bare.buttons[KEY("0-take")]["label"] == "Answer"


def test_a_token_is_chosen_among_those_of_its_side(bare: Bare, make_lesson: MakeLesson):
    for side, labels in (("source", ["The", "cat"]), ("target", ["<bos>", "Le"])):
        view_fields.ask_again("made", 0)
        question.show(make_lesson(), asked(tokens=side), 0, EVIDENCE)
        for chosen, answers in ((None, ()), (1, (labels[1],))):
            bare.session[KEY("0")] = chosen
            bare.widgets[KEY("0")].how["on_change"]()
            assert view_fields.answers("made") == answers


def spec(kind: str) -> FigureSpec:
    return FigureSpec(kind=kind, parameters={}, lines={}, line=1)


def test_the_six_words_are_trained_only_where_it_was_asked_for(bare: Bare, make_lesson: MakeLesson):
    for kind in ("loss", "distributions"):
        assert not bare.buttons
        spec = FigureSpec(kind=kind, parameters={}, lines={}, line=1)
        assert figure._training(make_lesson(), spec, "key") is False
    bare.buttons["key-train"]["on_click"](*bare.buttons["key-train"]["args"])
    assert view_fields.wants_training("made") and view_fields.seed("made") == 0


@pytest.mark.parametrize(
    ("settings", "site", "head"),
    [
        ({"attention": "cross", "layer": 1, "head": 2, "target": "Le chat"}, "decoder.blocks.1.cross_attn", 2),
        ({"attention": "decoder", "layer": 9, "head": 9}, "decoder.blocks.1.self_attn", 3),
        ({"model": "induction", "text": "a b a", "attention": "decoder", "layer": 0}, "decoder.blocks.0.self_attn", 2),
        ({"model": "fill-in", "attention": "", "layer": 0, "head": 3}, "encoder.blocks.0.self_attn", 3),
    ],
)
def test_the_lines_compute_the_chapters_head(make_lesson: MakeLesson, settings: dict[str, Any], site: str, head: int):
    """They check themselves against the model, and z is the head's own."""
    names, _ = run_lines(chapter.code_of(make_lesson(**settings)))
    inputs = [torch.tensor([ids]) for ids in names["model_run"].inputs]
    with torch.inference_mode(), tc.capture(names["model"], f"{site}.hook_z") as activations:
        names["model"](*inputs)
    np.testing.assert_allclose(names["z"], activations[f"{site}.hook_z"][0, head], atol=1e-4)
    assert names["name"] == site


@pytest.mark.parametrize(
    ("changes", "attention", "line"),
    [
        ({"scale_scores": False}, "cross", "scores = q @ k.T\n"),
        ({"positions": "alibi"}, "decoder", 'hook_attn_scores"][0, 2]'),
        ({"n_kv_heads": 2}, "cross", 'hook_{what}"][0, 1]'),
    ],
)
def test_scores_and_shared_keys_are_as_the_model_has_them(
    make_lesson: MakeLesson, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], attention: str, line: str
):
    card = models.available()["en-fr"]
    changed = replace(card, config=replace(card.config, **changes))
    monkeypatch.setattr(chapter.lessons, "card_of", lambda _: changed)
    assert line in chapter.code_of(make_lesson(attention=attention, head=2))


def claim(*sources: str) -> Check:
    return Check(claim="", holds=tuple(Asked(source=one, expression=parse(one), line=3) for one in sources), line=2)


def test_statements_are_counted_and_those_that_fail_are_said(bare: Bare, make_lesson: MakeLesson):
    lesson = make_lesson()
    evidence = chapter.lessons.evidence_of(lesson)
    chapter.checks(lesson, [claim("1 == 1", "2 == 2"), claim("3 == 3")], evidence)
    assert "3 statements of this chapter verified" in bare.words and "hl-note" not in bare.words
    bare.clear()
    chapter.checks(lesson, [claim("1 == 2")], evidence)
    assert "1 statement of this chapter verified" in bare.words and bare.words.count("hl-note") == 1


def test_the_instructions_name_the_folder_the_example_and_all_that_a_lesson_can_ask_for(bare: Bare):
    writing.show()
    assert str(lessons.own_folder()) in bare.words and writing.EXAMPLE in bare.words
    quantities = [f"{name}[{of.parts}]" if of.parts else name for name, of in QUANTITIES.items()]
    for name in (*quantities, *(f"kind: {name}" for name in KINDS), *(f"mistake: {name}" for name in MISTAKES)):
        assert name in bare.words


def test_a_number_is_told_with_what_was_answered(bare: Bare, make_lesson: MakeLesson, monkeypatch: pytest.MonkeyPatch):
    for given, is_right, text in (
        ("28", True, "Correct: 28."),
        ("27", False, "You answered 27. The correct answer is 28."),
        (None, False, "The answer is 28."),
    ):
        verdict = AnswerVerdict(is_right=is_right, right="28", is_computed=True)
        monkeypatch.setattr(question, "judge", lambda *_, verdict=verdict: verdict)
        view_fields.ask_again("made", 0)
        view_fields.answer("made", 0, given)
        question.show(make_lesson(), asked(), 0, EVIDENCE)
        assert f"<p class='hl-tour-verdict' data-right='{is_right}'>{text}</p>" in bare.words
        assert "Computed live." in bare.words


def test_a_slider_of_whole_steps_is_of_whole_numbers(bare: Bare):
    for step, number in ((2.0, int), (0.5, float)):
        figure._sliders((Slider(name="n", label="N", low=1.0, high=9.0, step=step, start=3.0),), "key")
        how = bare.widgets["key-n"].how
        limits = [how[name] for name in ("min_value", "max_value", "value", "step")]
        assert limits == [1, 9, 3, step] and {type(limit) for limit in limits} == {number}


def test_a_table_marks_its_row_and_has_codes_beside_names():
    rows = (("one", "1", "2"), ("two", "3", "4"))
    for marked, classes in ((1, ["", "hl-marked"]), (0, ["hl-marked", ""]), (None, ["", ""])):
        codes = ("c1", "") if marked is not None else ()
        table = LessonTable(title="T", columns=("name", "x", "y"), rows=rows, marked=marked, codes=codes)
        words = figure.table_markup(table)
        assert "<th>name</th><th>x</th><th>y</th>" in words
        code = "<code>c1</code>" if codes else ""
        lines = [
            f"<tr class='{classes[0]}'><td>one{code}</td><td>1</td><td>2</td></tr>",
            f"<tr class='{classes[1]}'><td>two</td><td>3</td><td>4</td></tr>",
        ]
        assert "".join(lines) in words


def prose(words: str) -> Prose:
    return Prose(pieces=(words,), line=1)


def either(ask: str) -> Question:
    choices = (Choice(text="one", is_right=True, line=1), Choice(text="two", is_right=False, line=1))
    return Question(ask=ask, choices=choices, answer=None, within=0, tokens="", hint="", line=1)


A, B, C, Q, Q2, F, G = prose("a"), prose("b"), prose("c"), either("q"), either("q2"), spec("f"), spec("g")


A, B, C, Q, Q2, F, G = prose("a"), prose("b"), prose("c"), either("q"), either("q2"), spec("f"), spec("g")


A, B, C, Q, Q2, F, G = prose("a"), prose("b"), prose("c"), either("q"), either("q2"), spec("f"), spec("g")


A, B, C, Q, Q2, F, G = prose("a"), prose("b"), prose("c"), either("q"), either("q2"), spec("f"), spec("g")


A, B, C, Q, Q2, F, G = prose("a"), prose("b"), prose("c"), either("q"), either("q2"), spec("f"), spec("g")


A, B, C, Q, Q2, F, G = prose("a"), prose("b"), prose("c"), either("q"), either("q2"), spec("f"), spec("g")


A, B, C, Q, Q2, F, G = prose("a"), prose("b"), prose("c"), either("q"), either("q2"), spec("f"), spec("g")


@pytest.mark.parametrize(
    ("parts", "rows"),
    [
        ([A, F, B], [([A, B], [F])]),
        ([A, Q, B, F], [([A, Q], []), ([B], [F])]),
        ([A, F, Q, B], [([A, Q, B], [F])]),
        ([A, F, Q, B, Q2, C, G], [([A, Q, B, Q2], [F]), ([C], [G])]),
        ([A, Q, F, B, G], [([A, Q], [F]), ([B], [G])]),
        ([Q, Q2, F], [([Q], []), ([Q2], [F])]),
        ([], [([], [])]),
        ([A, Check(claim="", holds=(), line=1), Link(page="heads", label="", fields={}, line=1)], [([A], [])]),
    ],
)
def test_after_a_question_a_new_row_begins_where_there_are_figures_for_it(parts: list[Any], rows: list[Any]):
    assert [(row.left, row.figures) for row in chapter.rows_of(parts)] == rows


def test_of_a_model_that_is_not_here_there_are_no_lines(make_lesson: MakeLesson):
    assert chapter.code_of(make_lesson(model="nowhere")) == ""
