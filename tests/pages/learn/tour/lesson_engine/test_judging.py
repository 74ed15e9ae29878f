"""Answers are judged by the model's numbers, and a lesson cannot claim what is not so."""

import pytest

from pages.learn.tour.lesson_engine.judging import check, judge, number_typed, prose, readings_typed
from pages.learn.tour.lesson_engine.lesson import Check, LessonError, Prose, Question
from pages.learn.tour.lesson_engine.reader import read_lesson
from tests.pages.learn.tour.lesson_engine.conftest import MakeEvidence

CAT = "The cat sees the dog."


def part(text: str):
    """The first part of a lesson with this body, which begins in line 3."""
    return read_lesson(f"title: T\n\n{text}\n", name="t", file="t.md", pages={}).parts[0]


def question(text: str) -> Question:
    actual = part(f"[question]\nask: what?\n{text}")
    assert isinstance(actual, Question)
    return actual


@pytest.mark.parametrize(
    ("text", "given", "is_right", "right"),
    [
        ("answer: d_head\nwithin: 0.5", "32", True, "32"),
        ("answer: d_head\nwithin: 0.5", "32,4", True, "32"),
        ("answer: d_head\nwithin: 0.5", "32.5", True, "32"),
        ("answer: d_head\nwithin: 0.5", "31.5", True, "32"),
        ("answer: d_head\nwithin: 0.5", "33", False, "32"),
        *(
            ("answer: 936 * 4 * d_head\nwithin: 0.5", given, is_right, "119808")
            for given, is_right in (("119,808", True), ("119.808", True), ("119 808", True), ("119,8", False))
        ),
        ("answer: d_head\nwithin: 0.5\nchoice: 40\nchoice: 32.5", "32.5", True, "32.5"),
        ("answer: d_head", "many", False, "32"),
        ('tokens: source\nanswer: argmax(pattern[cross, 1, 0].at(writing="chat"))', "cat", True, "cat"),
        ('tokens: target\nanswer: argmax(mask[decoder].at(query="chat"))', "le", True, "le"),  # as good as <bos>
        ('tokens: target\nanswer: argmax(mask[decoder].at(query="chat"))', "voit", False, "<bos>"),
        ("answer: log(6)\nwithin: 0.01", "1.79", True, "1.792"),
        ("answer: d_head\nchoice: 64\nchoice: 32", "64", False, "32"),
        ("choice: a\nright when: d_head < 1\nchoice: b\nright when: d_head > 1", "b", True, "b"),
        ("choice: a\nright: b", "a", False, "b"),
    ],
)
def test_answers(make_evidence: MakeEvidence, text: str, given: str, is_right: bool, right: str):
    verdict = judge(question(text), make_evidence("en-fr", CAT), given)
    assert (verdict.is_right, verdict.right) == (is_right, right)
    assert verdict.is_computed == any(of_model in text for of_model in ("d_head", "pattern", "mask"))


@pytest.mark.parametrize(
    ("text", "part_of_it"),
    [
        ("choice: a\nright when: d_head > 1\nchoice: b\nright when: d_head > 2", "several choices are correct"),
        ("choice: a\nright when: d_head < 1\nchoice: b", "none of the choices is correct"),
        ("answer: d_head\nchoice: 1\nchoice: 2", "whose answer is 32"),
        ("choice: a\nright when: d_head", "needs a comparison"),
        ("answer: pattern[cross, 1, 0]", "expected a single number"),
        ("answer: pattern[cross, 9, 0]", "no layer “9”"),
    ],
)
def test_a_question_without_a_single_right_answer_is_a_fault(make_evidence: MakeEvidence, text: str, part_of_it: str):
    with pytest.raises(LessonError, match=part_of_it):
        judge(question(text), make_evidence("en-fr", CAT), "a")


def test_a_check_that_does_not_hold_tells_both_sides(make_evidence: MakeEvidence):
    evidence = make_evidence("en-fr", CAT)
    fails, is_none = (part(f"[check]\nholds: {source}") for source in ("d_head + 1 == 32", "d_head"))
    assert isinstance(fails, Check) and isinstance(is_none, Check)
    with pytest.raises(LessonError, match=r"d_head \+ 1 == 32 \(left is 33, right is 32\)") as caught:
        check(fails, evidence)
    assert caught.value.line == 4
    with pytest.raises(LessonError, match="a check must be a comparison"):
        check(is_none, evidence)


def test_numbers_and_words_are_put_into_prose(make_evidence: MakeEvidence):
    evidence = make_evidence("en-fr", CAT)
    actual = part('{{d_head : 2}} and {{"a*b_c"}} and {{0 - 1 / 3 : 3}}')
    assert isinstance(actual, Prose)
    assert prose(actual, evidence) == "32.00 and a\\*b\\_c and −0.333"
    wrong = part("one\ntwo {{pattern[cross, 0, 0]}}")
    assert isinstance(wrong, Prose)
    with pytest.raises(LessonError) as caught:
        prose(wrong, evidence)
    assert caught.value.line == 4


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        *((text, [119.808, 119808.0]) for text in ("119,808", "119.808")),
        *((f"119{space}808", [119808.0]) for space in " \u00a0\u202f'’"),
        *(("1,234,567", [1234567.0]), ("0,500", [0.5]), ("1,8", [1.8]), ("1,234.567", []), ("12 34", [])),
    ],
)
def test_a_number_may_be_grouped_in_thousands(text: str, readings: list[float]):
    assert readings_typed(text) == readings
    assert number_typed(text) == (readings[0] if readings else None)


def test_simple_arithmetic_is_a_number():
    for text in ("√128", "sqrt(128)", "√(2*64)", "2^3,5", "128 ** 0.5", "8 × √2", "exp(ln(128)/2)"):
        assert number_typed(text) == pytest.approx(128**0.5, rel=1e-12), text
    assert [number_typed(text) for text in (" 0,5 ", "−2", "1e-3", "1/4 + -(2 - 1)")] == [0.5, -2.0, 0.001, -0.75]
    refused = f"|nan|1e999|1/0|sqrt(-1)|9^9^9^9|√|2 2|(1|True|x|__import__('os').getcwd()|{'1' * 200}|{'(' * 90}"
    assert {number_typed(text) for text in refused.split("|")} == {None}
