"""Every shipped lesson, and the one of README: checks hold, questions have one right answer, figures can be drawn."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from pages.learn.tour import checks, lessons
from pages.learn.tour.lesson_engine.catalogue import KINDS, read_parameters
from pages.learn.tour.lesson_engine.drawn import FigureData, Plot, Strip, Table
from pages.learn.tour.lesson_engine.folder import read_lessons
from pages.learn.tour.lesson_engine.judging import check, judge, prose
from pages.learn.tour.lesson_engine.lesson import Asked, Check, FigureSpec, Lesson, Link, Part, Prose, Question, Told
from pages.learn.tour.lesson_engine.mistakes import MISTAKES
from pages.learn.tour.lesson_engine.reader import read_lesson
from tests.pages.learn.bare import run_lines
from tests.pages.learn.tour.lesson_engine.conftest import MakeEvidence

ROOT = Path(__file__).resolve().parents[5]


FOLDER = ROOT / "pages" / "learn" / "tour" / "lessons"


def lessons_in(language: str) -> list[Lesson]:
    pages = lessons.linked()
    found = read_lessons(FOLDER, language, root=ROOT, pages=pages)
    broken = [lesson for lesson in found if not isinstance(lesson, Lesson)]
    assert not broken, broken
    return [lesson for lesson in found if isinstance(lesson, Lesson)]


ENGLISH, GERMAN = lessons_in("en"), lessons_in("de")


def expressions(parts: tuple[Part, ...]) -> Iterator[str]:
    """All expressions of some parts."""
    for part in parts:
        if isinstance(part, Prose):
            yield from (piece.asked.source for piece in part.pieces if isinstance(piece, Told))
        elif isinstance(part, Question):
            yield from (choice.is_right.source for choice in part.choices if isinstance(choice.is_right, Asked))
            yield from () if part.answer is None else (part.answer.source,)
        elif isinstance(part, Check):
            yield from (asked.source for asked in part.holds)


SLOW = dict.fromkeys(("training", "targets"), pytest.mark.training)


@pytest.mark.parametrize("lesson", [pytest.param(one, id=one.name, marks=SLOW.get(one.name, ())) for one in ENGLISH])
def test_a_lesson_tells_the_truth(make_evidence: MakeEvidence, lesson: Lesson):
    examples = json.loads((ROOT / "checkpoints" / lesson.model / "card.json").read_text())["examples"]
    evidence = make_evidence(
        lesson.model,
        lesson.text or examples[0],
        mistake=lesson.mistake,
        target=lesson.target,
        padding=lesson.padding,
        other=lesson.other,
    )
    for part in lesson.parts:
        match part:
            case Prose():
                assert prose(part, evidence)
            case Question():
                assert judge(part, evidence, "").right
            case Check():
                check(part, evidence)
            case FigureSpec():
                moved = {slider.name: slider.start for slider in KINDS[part.kind].sliders(part)}
                data = FigureData(lesson=lesson, spec=part, evidence=evidence, given=read_parameters(part), moved=moved)
                drawn = KINDS[part.kind].draw(data)
                match drawn:
                    case Plot():
                        assert drawn.figure.data and drawn.csv.count("\n") > 1
                    case Strip():
                        assert len(drawn.labels) == len(drawn.notes or drawn.labels) > 1
                    case Table():
                        assert {len(row) for row in drawn.rows} == {len(drawn.columns)}


def test_the_chapter_of_patching_says_the_shares_that_its_figures_and_its_code_show(make_evidence: MakeEvidence):
    lesson = next(one for one in ENGLISH if one.name == "il-or-elle")
    evidence = make_evidence(lesson.model, lesson.text, other=lesson.other)
    words = " ".join(prose(part, evidence) for part in lesson.parts if isinstance(part, Prose))
    texts = set()
    for part in lesson.parts:
        if isinstance(part, FigureSpec) and part.kind == "matrix":
            data = FigureData(lesson=lesson, spec=part, evidence=evidence, given=read_parameters(part), moved={})
            figure = KINDS["matrix"].draw(data)
            assert isinstance(figure, Plot) and [*figure.figure.layout.yaxis.ticktext] == ["L0", "L1"]
            texts |= {text for trace in figure.figure.data if trace.text is not None for text in np.ravel(trace.text)}
    told = re.findall(r"(\d+)% of the pronouns|L0\.H1 flips (\d+)%|L1\.H0 (\d+)%", words)
    names, _ = run_lines(checks.code_of(lesson))
    drawn = [effect for effect in names["found"].single if effect.heads[0].attention != "decoder"]
    by_code = {f"{100 * effect.rates.lower:.0f}" for effect in drawn}
    assert by_code == texts - {""}
    assert len(told) == 3 and {share for shares in told for share in shares if share} == texts - {"0", ""}


def test_german_lessons_say_the_same_of_the_same_numbers():
    assert [lesson.name for lesson in GERMAN] == [lesson.name for lesson in ENGLISH]
    for english, german in zip(ENGLISH, GERMAN, strict=True):
        for name in ("model", "text", "target", "other", "attention", "layer", "head", "padding", "mistake"):
            assert getattr(english, name) == getattr(german, name), (english.name, name)
        assert [type(part) for part in english.parts] == [type(part) for part in german.parts], english.name
        asked = [Counter(expressions(lesson.parts)) for lesson in (english, german)]
        assert asked[0] == asked[1], english.name
        for one, other in zip(english.parts, german.parts, strict=True):
            if isinstance(one, FigureSpec) and isinstance(other, FigureSpec):
                of_words = ("title", "names")
                assert one.kind == other.kind
                assert [item for item in one.parameters.items() if item[0] not in of_words] == [
                    item for item in other.parameters.items() if item[0] not in of_words
                ]
            elif isinstance(one, Link) and isinstance(other, Link):
                assert (one.page, one.fields) == (other.page, other.fields)
            elif isinstance(one, Question) and isinstance(other, Question):
                assert (one.tokens, one.within, len(one.choices)) == (other.tokens, other.within, len(other.choices))
                assert one.ask != other.ask
        assert english.title != german.title


def test_each_mistake_has_its_exercise_and_each_chapter_asks_and_checks():
    assert Counter(lesson.mistake for lesson in ENGLISH if lesson.mistake) == dict.fromkeys(MISTAKES, 1)
    assert sum(not lesson.mistake for lesson in ENGLISH) >= 10
    for lesson in ENGLISH:
        kinds = {type(part) for part in lesson.parts}
        assert {Prose, FigureSpec, Question, Check, Link} <= kinds, lesson.name


README = Path(__file__).resolve().parents[5] / "README.md"


def test_it_can_be_read_and_its_claims_hold(make_evidence: MakeEvidence):
    text = re.findall(r"```\n(title: .*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert len(text) == 1
    lesson = read_lesson(text[0], name="who", file="lessons/who.md", pages={})
    evidence = make_evidence(lesson.model, lesson.text)
    assert [type(part) for part in lesson.parts] == [Prose, Question, Prose, FigureSpec, Check]
    for part in lesson.parts:
        match part:
            case Prose():
                assert "{{" not in prose(part, evidence)
            case Question():
                assert judge(part, evidence, "animal").is_right
            case Check():
                check(part, evidence)  # raises where a claim does not hold
            case FigureSpec():
                assert read_parameters(part)
