"""Every shipped lesson, and that of docs/lessons.md: checks hold, questions have one answer, figures can be drawn."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pages.learn.tour import chapter, lessons
from pages.learn.tour.lesson_engine.catalogue import KINDS
from pages.learn.tour.lesson_engine.drawn import FigureData, LessonTable, Plot, Strip
from pages.learn.tour.lesson_engine.evidence import Evidence
from pages.learn.tour.lesson_engine.judging import check, judge, prose, right_choice
from pages.learn.tour.lesson_engine.lesson import Asked, Check, FigureSpec, Lesson, Link, Part, Prose, Question
from pages.learn.tour.lesson_engine.mistakes import MISTAKES
from pages.learn.tour.lesson_engine.reader import read_lesson
from pages.learn.tour.lesson_engine.value import Values
from tests.pages.learn.bare import run_lines
from tests.pages.learn.tour.lesson_engine.conftest import MakeEvidence, card
from transformer_core.errors import HeadlightError

ROOT = Path(__file__).resolve().parents[5]
FOLDER = ROOT / "pages" / "learn" / "tour" / "lessons"


def lessons_in(language: str) -> list[Lesson]:
    actual = lessons.read_lessons(FOLDER, language, root=ROOT, pages=lessons.linked())
    assert all(isinstance(lesson, Lesson) for lesson in actual), actual
    return [lesson for lesson in actual if isinstance(lesson, Lesson)]


ENGLISH, GERMAN = lessons_in("en"), lessons_in("de")


def expressions(parts: tuple[Part, ...]) -> Iterator[str]:
    """All expressions of some parts."""
    for part in parts:
        if isinstance(part, Prose):
            yield from (piece.source for piece in part.pieces if isinstance(piece, Asked))
        elif isinstance(part, Question):
            yield from (choice.is_right.source for choice in part.choices if isinstance(choice.is_right, Asked))
            yield from () if part.answer is None else (part.answer.source,)
        elif isinstance(part, Check):
            yield from (request.source for request in part.holds)


def evidence_of(lesson: Lesson, make_evidence: MakeEvidence, mistake: str) -> Evidence:
    """The evidence of a chapter in which this mistake is made."""
    of = {"target": lesson.target, "padding": lesson.padding, "other": lesson.other}
    return make_evidence(lesson.model, lesson.text or card(lesson.model)["examples"][0], mistake=mistake, **of)


SLOW = dict.fromkeys(("training", "targets"), pytest.mark.training)


@pytest.mark.parametrize("lesson", [pytest.param(one, id=one.name, marks=SLOW.get(one.name, ())) for one in ENGLISH])
def test_a_lesson_tells_the_truth(make_evidence: MakeEvidence, lesson: Lesson):
    evidence = evidence_of(lesson, make_evidence, lesson.mistake)
    assert_true(lesson, evidence)
    if not lesson.mistake:  # there the figures are the symptoms from which the mistake is to be found
        assert_predicted_first(lesson, evidence)


def assert_predicted_first(lesson: Lesson, evidence: Evidence) -> None:
    """No figure above an open question has the numbers that its answer is made of, wherever its sliders are."""
    for n, question in enumerate(lesson.questions):
        deciding = [question.answer, *(choice.is_right for choice in question.choices)]
        above = [part for part in lesson.parts_up_to(n) if isinstance(part, FigureSpec)]
        seen = np.array([number for spec in above for number in numbers_in(lesson, spec, evidence, n)])
        for expression in (one.expression for one in deciding if isinstance(one, Asked)):
            values = [of for of in map(evidence.ask, sources_in(expression)) if isinstance(of, Values)]
            parts = [of.array.ravel() for of in values if of.axes or of.number % 1]  # not a size, such as d_model
            are_seen = [np.isclose(part[:, None], seen, rtol=2e-3, atol=1e-9).any(axis=1).all() for part in parts]
            is_read = bool(parts) and all(are_seen)
            assert not is_read or (lesson.name, n) in ASKS_FOR_A_DIFFERENCE, (lesson.name, question.ask)


ASKS_FOR_A_DIFFERENCE = [("shifted-right", 2)]
"""A question whether a number changes: the figure above it has the one before, and the answer is that it stays."""


MANY = 200  # points of a curve; of these, only the lowest and the highest can be read


def sources_in(tree: ast.expr) -> Iterator[str]:
    """The numbers that an expression is made of, as expressions: a row, a cell, a rate."""
    match tree:
        case ast.Call(ast.Name("learning_rate") | ast.Attribute()) | ast.Subscript() | ast.Attribute() | ast.Name():
            yield ast.unparse(tree)
        case ast.Call(_, parts):
            yield from (source for part in parts for source in sources_in(part))
        case _:
            for part in ast.iter_child_nodes(tree):
                yield from sources_in(part) if isinstance(part, ast.expr) else ()


def numbers_in(lesson: Lesson, spec: FigureSpec, evidence: Evidence, n_answered: int) -> Iterator[float]:
    """The numbers of a figure before this question is answered, with its sliders at their ends and at their start."""
    hiding, kind = evidence.hiding(lesson.questions[n_answered:]), KINDS[spec.kind]
    for end in ("low", "start", "high"):
        moved = {slider.name: getattr(slider, end) for slider in kind.sliders_of(spec)}
        match kind.draw(FigureData(lesson=lesson, spec=spec, evidence=hiding, moved=moved)):
            case Plot() as plot:
                (_, *columns), weights = plot.arrays().values(), plot.arrays().get("weight")
                arrays = columns if weights is None else [weights]
                is_curve = weights is None and len(columns[0]) > MANY
                cells = [str(n) for of in arrays for n in ((of.min(), of.max()) if is_curve else of.tolist())]
            case Strip(notes=notes):
                cells = [*notes]
            case LessonTable(rows=rows):
                cells = [cell.replace("\u2212", "-") for _, *row in rows for cell in row]
        for cell in cells:
            with suppress(ValueError):
                yield float(cell)


def assert_true(lesson: Lesson, evidence: Evidence) -> None:
    """Its checks hold, its questions have one correct answer, and its figures can be drawn."""
    for part in lesson.parts:
        match part:
            case Prose():
                assert prose(part, evidence)
            case Question():
                assert judge(part, evidence, "").right
            case Check():
                check(part, evidence)
            case FigureSpec():
                moved = {slider.name: slider.start for slider in KINDS[part.kind].sliders_of(part)}
                data = FigureData(lesson=lesson, spec=part, evidence=evidence, moved=moved)
                drawn = KINDS[part.kind].draw(data)
                match drawn:
                    case Plot():
                        assert drawn.figure.data and drawn.csv.count("\n") > 1
                    case Strip():
                        assert len(drawn.labels) == len(drawn.notes or drawn.labels) > 1
                    case LessonTable():
                        assert {len(row) for row in drawn.rows} == {len(drawn.columns)}


@pytest.mark.training
@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_right_answer_is_right_of_this_mistake_alone(make_evidence: MakeEvidence, mistake: str):
    (lesson,) = (lesson for lesson in ENGLISH if lesson.mistake == mistake)
    (question,) = lesson.questions
    right = right_choice(question, evidence_of(lesson, make_evidence, mistake))
    assert isinstance(right.is_right, Asked)
    for other in ("", *MISTAKES):
        try:
            holds = evidence_of(lesson, make_evidence, other).answer(right.is_right.expression)
        except HeadlightError:
            continue  # this mistake cannot be made with this text
        assert holds == (other == mistake), (right.text, other)


def test_the_code_of_the_chapter_on_patching_gives_the_shares_of_its_figures(make_evidence: MakeEvidence):
    (lesson,) = (lesson for lesson in ENGLISH if lesson.name == "il-or-elle")
    names, _ = run_lines(chapter.code_of(lesson))
    for attention in ("encoder", "cross"):
        flips = evidence_of(lesson, make_evidence, "").ask(f"flips[{attention}]")
        assert isinstance(flips, Values)
        effects = [effect for effect in names["found"].single if effect.heads[0].attention == attention]
        np.testing.assert_allclose(np.ravel(flips.array), [effect.rates.lower for effect in effects], atol=1e-6)


def without_words(part: Part) -> object:
    """What is the same of a part in every language."""
    match part:
        case FigureSpec():
            return part.kind, {name: of for name, of in part.parameters.items() if name not in ("title", "names")}
        case Link():
            return part.page, part.fields
        case Question():
            return part.tokens, part.within, len(part.choices)
    return type(part)


def test_german_lessons_say_the_same_of_the_same_numbers():
    for english, german in zip(ENGLISH, GERMAN, strict=True):
        one, other = (
            replace(lesson, file="", title="", group="", section="", parts=()) for lesson in (english, german)
        )
        assert one == other
        assert [*map(without_words, english.parts)] == [*map(without_words, german.parts)], english.name
        assert Counter(expressions(english.parts)) == Counter(expressions(german.parts)), english.name
        assert english.title != german.title


def test_each_mistake_has_its_exercise_and_each_chapter_asks_and_checks():
    assert Counter(lesson.mistake for lesson in ENGLISH if lesson.mistake) == dict.fromkeys(MISTAKES, 1)
    assert sum(not lesson.mistake for lesson in ENGLISH) >= 10
    for lesson in ENGLISH:
        kinds = {type(part) for part in lesson.parts}
        assert {Prose, FigureSpec, Question, Check, Link} <= kinds, lesson.name


def test_the_lesson_of_the_docs_can_be_read_and_its_claims_hold(make_evidence: MakeEvidence):
    text = re.findall(r"```\n(title: .*?)```", (ROOT / "docs/lessons.md").read_text(encoding="utf-8"), re.DOTALL)
    (lesson,) = (read_lesson(one, name="who", file="lessons/who.md", pages={}) for one in text)
    assert [type(part) for part in lesson.parts] == [Prose, Question, Prose, FigureSpec, Check]
    assert judge(lesson.questions[0], evidence_of(lesson, make_evidence, ""), "animal").is_right
    assert_true(lesson, evidence_of(lesson, make_evidence, ""))
