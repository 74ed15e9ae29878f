"""The lesson that README shows to teachers is whole, and tells the truth."""

import re
from pathlib import Path

from pages.learn.tour.lesson_engine.catalogue import read_parameters
from pages.learn.tour.lesson_engine.judging import check, judge, prose
from pages.learn.tour.lesson_engine.lesson import Check, FigureSpec, Prose, Question
from pages.learn.tour.lesson_engine.reader import read_lesson
from tests.pages.learn.tour.lesson_engine.conftest import MakeEvidence

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
