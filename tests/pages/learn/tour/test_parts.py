"""The parts of a chapter, drawn bare: its rows, questions, figures, checks, and the instructions for teachers."""

import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import transformer_core as tc
from pages.learn.tour import chapter, checks, figure, lessons, question, view_fields, writing
from pages.learn.tour.lesson_engine import judging
from pages.learn.tour.lesson_engine.catalogue import KINDS
from pages.learn.tour.lesson_engine.drawn import Slider, Strip, Table
from pages.learn.tour.lesson_engine.expression import parse
from pages.learn.tour.lesson_engine.judging import Verdict
from pages.learn.tour.lesson_engine.lesson import Asked, BrokenLesson, Check, Choice, FigureSpec, Link, Prose, Question
from pages.learn.tour.lesson_engine.mistakes import MISTAKES
from pages.learn.tour.lesson_engine.quantities import QUANTITIES
from pages.shared import models
from tests.pages.learn.bare import Bare, run_lines
from tests.pages.learn.tour.conftest import MakeLesson
from transformer_core.errors import Message


def prose(words: str) -> Prose:
    return Prose(pieces=(words,), line=1)


def spec(kind: str) -> FigureSpec:
    return FigureSpec(kind=kind, parameters={}, lines={}, line=1)


def either(ask: str) -> Question:
    choices = (Choice(text="one", is_right=True, line=1), Choice(text="two", is_right=False, line=1))
    return Question(ask=ask, choices=choices, answer=None, within=0, tokens="", hint="", line=1)


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
    assert [(row.left, row.figures) for row in chapter._rows(parts)] == rows


def test_the_ways_lead_to_the_neighbours(bare: Bare, make_lesson: MakeLesson):
    three = [make_lesson(name=name, title=name.upper()) for name in "abc"]
    chapter._ways(1, three)
    back, on = bare.buttons["tour-back"], bare.buttons["tour-next"]
    assert (back["args"], back["disabled"], back["help"]) == (("a",), False, "A")
    assert (on["args"], on["label"]) == (("c",), "Next: C")
    on["on_click"](*on["args"])
    assert view_fields.LESSON.value == "c"
    chapter._ways(0, three)
    assert bare.buttons["tour-back"]["disabled"] and bare.buttons["tour-next"]["args"] == ("b",)
    bare.clear()
    chapter._ways(2, three)
    assert "tour-next" not in bare.buttons and bare.buttons["tour-back"]["args"] == ("b",)


def test_above_a_title_stand_its_group_and_its_section(bare: Bare, make_lesson: MakeLesson):
    for settings, kicker in (({"group": "Basics", "section": "3.2"}, "Basics · section 3.2"), ({}, "")):
        chapter._heading(make_lesson(**settings))
        assert f"<p class='hl-tour-kicker'>{kicker}</p><h2 class='hl-tour-title'>Made</h2>" in bare.words


def test_a_broken_chapter_says_why(bare: Bare):
    broken = BrokenLesson(name="b", file="b.md", title="B", group="", why=Message("line 3 of b.md is no part"))
    chapter.show(broken, place=0, all_lessons=[broken])
    assert "This lesson cannot be read. line 3 of b.md is no part." in bare.words and "tour-back" in bare.buttons


def test_what_is_after_a_question_waits_for_its_answer(bare: Bare, make_lesson: MakeLesson):
    lesson = make_lesson(prose("first words"), either("how many?"), prose("later words"), either("and then?"))
    chapter._parts(lesson)
    assert "first words" in bare.words and "how many?" in bare.words and "later words" not in bare.words
    assert f"tour-{lesson.name}-0-show" in bare.buttons
    bare.clear()
    view_fields.answer(lesson.name, 0, None)
    chapter._parts(lesson)
    assert "later words" in bare.words and "and then?" in bare.words
    assert f"tour-{lesson.name}-1-show" in bare.buttons and f"tour-{lesson.name}-0-show" not in bare.buttons


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


@pytest.mark.parametrize(("given", "kind", "mark"), [("b", "other", ""), ("a", "wrong", "✗"), (None, "other", "")])
def test_an_answered_choice_marks_the_right_one_and_the_given_one(
    bare: Bare, make_lesson: MakeLesson, given: str | None, kind: str, mark: str
):
    view_fields.answer("made", 0, given)
    lesson = make_lesson()
    question.show(lesson, choices("b", "a", "b", "c"), 0, lessons.evidence_of(lesson))
    for text, of, sign in (("a", kind, mark), ("b", "right", "✓"), ("c", "other", "")):
        remark = "<small>your prediction</small>" if text == given else ""
        assert f"<li data-kind='{of}'><b>{sign}</b><span>{text}</span>{remark}</li>" in bare.words
    assert "Just computed" not in bare.words
    again = bare.buttons[KEY("0-again")]
    again["on_click"](*again["args"])
    assert view_fields.answers("made") == ()


def test_a_number_is_told_with_what_was_answered(bare: Bare, make_lesson: MakeLesson, monkeypatch: pytest.MonkeyPatch):
    for given, is_right, told in (
        ("28", True, "Correct: 28."),
        ("27", False, "You answered 27. The correct answer is 28."),
        (None, False, "The answer is 28."),
    ):
        verdict = Verdict(is_right=is_right, right="28", is_computed=True)
        monkeypatch.setattr(judging, "judge", lambda *_, verdict=verdict: verdict)
        view_fields.ask_again("made", 0)
        view_fields.answer("made", 0, given)
        question.show(make_lesson(), asked(), 0, EVIDENCE)
        assert f"<p class='hl-tour-verdict' data-right='{is_right}'>{told}</p>" in bare.words
        assert "Just computed from the model’s activations." in bare.words


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
        pills = bare.widgets[KEY("0")]
        assert [name.replace("\\", "").replace("\u2060", "") for name in pills.names] == labels
        bare.session[KEY("0")] = None
        pills.how["on_change"]()
        assert view_fields.answers("made") == (), "none was chosen"
        bare.session[KEY("0")] = 1
        pills.how["on_change"]()
        assert view_fields.answers("made") == (labels[1],)


def test_a_strip_has_a_note_and_a_ground_for_each_token(bare: Bare):
    figure._strip(Strip(title="T", labels=("a", "b"), notes=("x", "y"), weights=(0.25, 1.5)))
    figure._strip(Strip(title="T", labels=("a", "b"), notes=(), weights=()))
    found = re.findall(r"<span style='--hl-p:(.*?)'><bdi>(.*?)</bdi><small>(.*?)</small></span>", bare.words)
    assert found == [("0.250", "a", "x"), ("1.000", "b", "y"), ("0.000", "a", ""), ("0.000", "b", "")]
    assert "<figcaption>T</figcaption>" in bare.words


def test_a_table_marks_its_row_and_has_codes_beside_names(bare: Bare):
    rows = (("one", "1", "2"), ("two", "3", "4"))
    for marked, classes in ((1, ["", "hl-marked"]), (0, ["hl-marked", ""]), (None, ["", ""])):
        bare.clear()
        codes = ("c1", "") if marked is not None else ()
        figure._table(Table(title="T", columns=("name", "x", "y"), rows=rows, marked=marked, codes=codes))
        assert "<th>name</th><th>x</th><th>y</th>" in bare.words
        code = "<code>c1</code>" if codes else ""
        lines = [
            f"<tr class='{classes[0]}'><td>one{code}</td><td>1</td><td>2</td></tr>",
            f"<tr class='{classes[1]}'><td>two</td><td>3</td><td>4</td></tr>",
        ]
        assert "".join(lines) in bare.words


def test_a_slider_of_whole_steps_is_of_whole_numbers(bare: Bare):
    for step, number in ((2.0, int), (0.5, float)):
        figure._sliders((Slider(name="n", label="N", low=1.0, high=9.0, step=step, start=3.0),), "key")
        how = bare.widgets["key-n"].how
        limits = [how[name] for name in ("min_value", "max_value", "value", "step")]
        assert limits == [1, 9, 3, step] and {type(limit) for limit in limits} == {number}


def test_the_six_words_are_trained_only_where_it_was_asked_for(bare: Bare, make_lesson: MakeLesson):
    lesson = make_lesson()
    assert figure._training(lesson, spec("loss"), {}, "key") is False and not bare.buttons
    assert figure._training(lesson, spec("distributions"), {}, "key") is False
    button = bare.buttons["key-train"]
    assert (button["label"], button["type"]) == ("Train now", "primary")
    button["on_click"](*button["args"])
    assert view_fields.wants_training("made") and view_fields.seed("made") == 0


def test_a_training_is_told_every_eighth_step_and_begins_from_the_chosen_seed(
    bare: Bare, make_lesson: MakeLesson, monkeypatch: pytest.MonkeyPatch
):
    told: list[Any] = []
    trained: list[Any] = []

    class Six:
        def __init__(self, seed: int, on_step: Any) -> None:
            self.seed, self.on_step = seed, on_step

        def six_words(self, smoothing: float) -> None:
            trained.append((self.seed, smoothing))
            for step in range(1, 18):
                self.on_step(step, 2.0)

    monkeypatch.setattr(figure.lessons, "evidence_of", lambda _, *, seed, on_step: Six(seed, on_step))
    monkeypatch.setattr(figure.lessons, "six_word_steps", lambda: 10)
    monkeypatch.setattr(figure.st, "progress", lambda share, text: told.append((share, text)), raising=False)
    for _ in range(3):
        view_fields.train("made")
    assert figure._training(make_lesson(), spec("distributions"), {"smoothing": 0.1}, "key") is True
    assert trained == [(2, 0.1)]
    assert [share for share, _ in told] == [0.8, 1.0] and "Step 8" in told[0][1].replace("\u2060", "")
    assert (
        bare.buttons["key-train"]["label"].startswith("Train again")
        and bare.buttons["key-train"]["type"] == "secondary"
    )


@pytest.mark.parametrize(
    ("settings", "site", "head"),
    [
        ({"attention": "cross", "layer": 1, "head": 2, "target": "Le chat"}, "decoder.blocks.1.cross_attn", 2),
        ({"attention": "decoder", "layer": 9, "head": 9}, "decoder.blocks.1.self_attn", 3),
        ({"attention": "none", "layer": None, "head": None}, "decoder.blocks.1.cross_attn", 0),
        (
            {"model": "induction", "text": "a b c a b", "attention": "decoder", "layer": 0},
            "decoder.blocks.0.self_attn",
            2,
        ),
        ({"model": "fill-in", "attention": "", "layer": 0, "head": 3}, "encoder.blocks.0.self_attn", 3),
    ],
)
def test_the_lines_compute_the_chapters_head(make_lesson: MakeLesson, settings: dict[str, Any], site: str, head: int):
    """They check themselves against the model, and z is the head's own."""
    names, _ = run_lines(checks.code_of(make_lesson(**settings)))
    inputs = [torch.tensor([ids]) for ids in names["model_run"].inputs]
    with torch.inference_mode(), tc.capture(names["model"], f"{site}.hook_z") as activations:
        names["model"](*inputs)
    np.testing.assert_allclose(names["z"], activations[f"{site}.hook_z"][0, head], atol=1e-4)
    assert names["name"] == site


@pytest.mark.parametrize(
    ("changes", "attention", "head", "lines"),
    [
        ({}, "cross", 2, ["scores = q @ k.T / q.shape[-1] ** 0.5\n"]),
        ({"scale_scores": False}, "cross", 2, ["scores = q @ k.T\n"]),
        ({"positions": "alibi"}, "decoder", 2, ['hook_attn_scores"][0, 2]']),
        ({"positions": "alibi"}, "cross", 2, ["scores = q @ k.T / q.shape[-1] ** 0.5\n"]),
        ({"positions": "relative_buckets"}, "encoder", 2, ['hook_attn_scores"][0, 2]']),
        ({"n_kv_heads": 2}, "cross", 1, ['hook_{what}"][0, 0]', 'hook_q"][0, 1]']),
        ({"n_kv_heads": 2}, "cross", 2, ['hook_{what}"][0, 1]', 'hook_q"][0, 2]']),
        ({"n_kv_heads": 1}, "cross", 3, ['hook_{what}"][0, 0]', 'hook_q"][0, 3]']),
    ],
)
def test_scores_and_shared_keys_are_as_the_model_has_them(
    make_lesson: MakeLesson,
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, Any],
    attention: str,
    head: int,
    lines: list[str],
):
    card = models.available()["en-fr"]
    changed = replace(card, config=replace(card.config, **changes))
    monkeypatch.setattr(checks.lessons, "card_of", lambda _: changed)
    code = checks.code_of(make_lesson(attention=attention, head=head))
    assert all(line in code for line in lines)


def test_of_a_model_that_is_not_here_there_are_no_lines(make_lesson: MakeLesson):
    assert checks.code_of(make_lesson(model="nowhere")) == ""


def claim(*sources: str, words: str = "") -> Check:
    return Check(claim=words, holds=tuple(Asked(source=one, expression=parse(one), line=3) for one in sources), line=2)


def test_statements_are_counted_and_those_that_fail_are_said(bare: Bare, make_lesson: MakeLesson):
    lesson = make_lesson()
    evidence = checks.lessons.evidence_of(lesson)
    checks.show(lesson, [claim("1 == 1", "2 == 2", words="Twos."), claim("3 == 3")], evidence)
    assert "3 statements of this chapter verified" in bare.words and "hl-note" not in bare.words
    assert "<li><span>Twos.</span><code>1 == 1</code><code>2 == 2</code></li><li><code>3 == 3</code></li>" in bare.words
    assert "This chapter is a text file, lessons/made.md." in bare.words or "code" in " ".join(bare.places + bare.texts)
    bare.clear()
    checks.show(lesson, [claim("1 == 2")], evidence)
    assert "1 statement of this chapter verified" in bare.words and bare.words.count("hl-note") == 1
    bare.clear()
    checks.show(lesson, [], evidence)
    assert "verified" not in bare.words


def test_each_list_names_all_that_there_is_with_its_parts():
    lists = dict(writing._lists())
    assert [name for name, _ in lists["Figures"]] == [f"kind: {name}" for name in KINDS]
    assert [name for name, _ in lists["Mistakes"]] == [f"mistake: {name}" for name in MISTAKES]
    assert dict(lists["Pages"])["page: heads"].startswith(", ".join(lessons.linked()["heads"])[:9])
    quantities = {name for name, _ in lists["Quantities of the model"]}
    for name, quantity in QUANTITIES.items():
        assert (f"{name}[{quantity.parts}]" if quantity.parts else name) in quantities
    assert all(meaning for rows in lists.values() for _, meaning in rows)


def test_the_instructions_name_the_folder_and_show_the_example(bare: Bare):
    writing.show()
    assert str(lessons.own_folder()) in bare.words and writing.EXAMPLE in bare.words
    assert bare.words.count("<table>") == 5
