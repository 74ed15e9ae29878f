"""Judges answers, and checks the claims of a lesson, by the model's numbers.

Numbers are taken as people type them: 28, 1,8, 1/3, sqrt(128), √128, 2^7; arithmetic is an expression of the lessons.
"""

import ast
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from headlight.language import say_message
from pages.learn.tour.lesson_engine.evidence import TRAINED, Evidence, is_of_model
from pages.learn.tour.lesson_engine.expressions import evaluate, parse, quantities_in, sides_of
from pages.learn.tour.lesson_engine.lesson import (
    Asked,
    Check,
    Choice,
    ExpressionError,
    LessonError,
    Prose,
    Question,
    at_line,
)
from pages.learn.tour.lesson_engine.value import Values, in_words, plain_number
from transformer_core.errors import Message

MOST_LETTERS = 100  # of what is typed
_TIE = 0.005  # numbers nearer than this may look equal, with two decimals
_SPELLINGS = str.maketrans({"\u2212": "-", "\u2013": "-", "×": "*", "·": "*", "÷": "/", ",": ".", "^": "**"})
_GROUPED = re.compile(r"[1-9]\d{0,2}(?:([,.'’\s])\d{3})(?:\1\d{3})*")  # in thousands: 119,808 and 119 808
_ROOT = re.compile(r"√\s*(\d+(?:\.\d+)?|(?=\())")


@dataclass(frozen=True, kw_only=True)
class AnswerVerdict:
    """The verdict on an answer."""

    is_right: bool
    right: str  # what is correct, in words
    is_computed: bool  # from a model's numbers, not by arithmetic alone
    value: float | None = None  # the correct number, if it is one


def judge(question: Question, evidence: Evidence, given: str) -> AnswerVerdict:
    """Return whether an answer is correct.

    Args:
        question: the one to judge.
        evidence: the numbers that the correct answer is computed from.
        given: the text of a choice, a token, or a number as it was typed.

    Raises:
        LessonError: the question has no correct answer, or more than one.
    """
    answer = question.answer
    if question.choices:
        right = right_choice(question, evidence)
        decided_by = right.is_right if isinstance(right.is_right, Asked) else answer
        is_computed = decided_by is not None and is_of_model(decided_by.expression)
        return AnswerVerdict(is_right=given == right.text, right=right.text, is_computed=is_computed)
    assert answer is not None, "the reader saw to it"
    result, is_computed = _result(answer, evidence), is_of_model(answer.expression)
    if isinstance(result, Values):
        value = _single(result, answer)
        is_right = any(abs(typed - value) <= question.within for typed in readings_typed(given))
        return AnswerVerdict(is_right=is_right, right=plain_number(value), is_computed=is_computed, value=value)
    words = result if isinstance(result, str) else say_message(in_words(result))
    is_right = given in (words, *_ties(answer, evidence))
    return AnswerVerdict(is_right=is_right, right=given if is_right else words, is_computed=is_computed)


def right_choice(question: Question, evidence: Evidence) -> Choice:
    """Return the correct one of the choices.

    Raises:
        LessonError: none is, or several are.
    """
    right = [choice for choice in question.choices if _is_right(choice, question, evidence)]
    if len(right) != 1:
        text = ", ".join(f"“{choice.text}”" for choice in right)
        if right:
            what = [Message("several choices are correct for this model: {choices}", choices=text)]
        else:
            what = [Message("none of the choices is correct for this model")]
        if not right and question.answer is not None:
            what.append(Message(", whose answer is {answer}", answer=in_words(_result(question.answer, evidence))))
        raise LessonError(Message.joined("", what), line=question.line)
    return right[0]


def check(claims: Check, evidence: Evidence) -> None:
    """Verify all conditions of a check.

    Raises:
        LessonError: a condition is false; the message gives the values of both sides.
    """
    for request in claims.holds:
        result = _result(request, evidence)
        if not isinstance(result, bool):
            raise LessonError(
                "a check must be a comparison, such as a == b; this is {what}", what=in_words(result), line=request.line
            )
        if not result:
            raise LessonError(
                "this does not hold: {source}{sides}",
                source=request.source,
                sides=_sides(request, evidence),
                line=request.line,
            )


def prose(text: Prose, evidence: Evidence) -> str:
    """Return paragraphs as Markdown, with the numbers filled in.

    Args:
        text: the paragraphs.
        evidence: the numbers. Markdown syntax in computed words is escaped.

    Raises:
        LessonError: a number cannot be computed.
    """
    return "".join(piece if isinstance(piece, str) else _told(piece, evidence) for piece in text.pieces)


def needs_training(text: Prose) -> bool:
    """Return whether any number in the paragraphs comes from training the six-word model."""
    result = (piece.expression for piece in text.pieces if isinstance(piece, Asked))
    return any(name in TRAINED for expression in result for name in quantities_in(expression))


def _told(request: Asked, evidence: Evidence) -> str:
    with at_line(request.line):
        words = evidence.told(request.source, request.decimals)
    return "".join(f"\\{letter}" if letter in "\\`*_[]<>$#~|:" else letter for letter in words)


def _is_right(choice: Choice, question: Question, evidence: Evidence) -> bool:
    if isinstance(choice.is_right, Asked):
        result = _result(choice.is_right, evidence)
        if not isinstance(result, bool):
            raise LessonError("“right when” needs a comparison, such as a < b", line=choice.is_right.line)
        return result
    if choice.is_right is not None or question.answer is None:
        return bool(choice.is_right)
    result = _result(question.answer, evidence)
    if isinstance(result, Values):
        typed = number_typed(choice.text)
        return typed is not None and abs(typed - _single(result, question.answer)) <= question.within
    return choice.text == (result if isinstance(result, str) else say_message(in_words(result)))


def _result(request: Asked, evidence: Evidence) -> Values | str | bool:
    with at_line(request.line):
        return evidence.answer(request.expression)


def _ties(request: Asked, evidence: Evidence) -> Iterator[str]:
    """Yield the tokens that are as good as the best one, if the answer is the best of a row: they look equal."""
    match request.expression:
        case ast.Call(ast.Name("argmax" | "argmin" as name), [of]):
            values = evidence.answer(of)
            if isinstance(values, Values) and len(values.axes) == 1:
                array = values.array.astype(np.float64)
                distance = np.abs(array - (array.max() if name == "argmax" else array.min()))
                yield from np.array(values.axes[0].shown)[distance < _TIE].tolist()


def _single(values: Values, request: Asked) -> float:
    with at_line(request.line):
        return values.number


def _sides(request: Asked, evidence: Evidence) -> str | Message:
    """Return the values of both sides of a comparison, as text."""
    sides = [in_words(evidence.answer(side)) for side in sides_of(request.expression)]
    return Message(" (left is {left}, right is {right})", left=sides[0], right=sides[1]) if sides else ""


def readings_typed(given: str) -> list[float]:
    """Return the possible readings of a number: 119,808 is 119.808, or 119808 with grouped thousands.

    Args:
        given: as for `number_typed`, or a number grouped in thousands.

    Returns:
        One or two numbers; [] if it is not a number.
    """
    result = [] if (number := _decimal_typed(given)) is None else [number]
    if len(given) <= MOST_LETTERS and _GROUPED.fullmatch(given.strip()):
        result.append(float(re.sub(r"\D", "", given)))
    return result


def number_typed(given: str) -> float | None:
    """Parse a typed number, also with a decimal comma, or simple arithmetic; return None if it is neither.

    Args:
        given: numbers with + - * / ^ and parentheses, √ or sqrt, exp, and log or ln, both of base e.
    """
    return next(iter(readings_typed(given)), None)


def _decimal_typed(given: str) -> float | None:
    if len(given) > MOST_LETTERS:
        return None
    source = given.strip().translate(_SPELLINGS)
    try:
        value = float(source)
    except ValueError:
        source = _ROOT.sub(lambda root: f"sqrt({root[1]})" if root[1] else "sqrt", source)
        try:
            result = evaluate(parse(re.sub(r"\bln\b", "log", source)), _no_quantity)
            value = result.number if isinstance(result, Values) else math.nan
        except ExpressionError:
            return None
    return value if math.isfinite(value) else None


def _no_quantity(name: str, *_: object) -> NoReturn:
    raise ExpressionError("“{name}” is not a number", name=name)
