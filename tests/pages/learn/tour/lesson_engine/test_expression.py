"""Expressions of lessons: Python computes the same arithmetic, and each error is one sentence."""

import ast
import math
import random
import re

import numpy as np
import pytest

from pages.learn.tour.lesson_engine.expressions import evaluate, parse, quantities_in
from pages.learn.tour.lesson_engine.lesson import ExpressionError
from pages.learn.tour.lesson_engine.value import Axis, Values, in_words

REFUSED = (
    *("p.array", "p.__class__", "lambda: 1", "[1]", "{}", "(p := 1)", "f'{p}'", "b'a'", "1j", "...", "None", "~p"),
    *("p % 2", "p // 2", "p | 1", "sum(*p)", "sum(p, **p)", "p is 1", "p if p else 1", "p['x'].T", "p[1][0]"),
    *("p.at(key=0)(1)", "sum(p, axis=0)", "[p for p in p]", "p in p", "p[0:1]", "9" * 399),
)
TABLE = np.array([[0.5, 0.25, 0.25], [0.1, 0.7, 0.2]])


def quantity(name, parts, run):
    """The one table that there is."""
    if name != "p":
        raise ExpressionError(f"no {name}")
    words = Axis(name="query", size=2, labels=("it", "was"), names={"writing": ("was", "tired")})
    return Values(array=TABLE, axes=(words, Axis(name="key", size=3, labels=("a", "b", "b"))))


def value(source: str):
    actual = evaluate(parse(source), quantity)
    return float(actual.array) if isinstance(actual, Values) and not actual.axes else actual


def random_sum(draw: random.Random, depth: int) -> str:
    if depth == 0:
        return str(draw.randint(1, 9))
    left, right = (random_sum(draw, depth - 1) for _ in range(2))
    sign = draw.choice("+-*/")
    return f"({left} {sign} {right})" if draw.random() < 0.5 else f"{left} {sign} {right}"


def test_arithmetic_is_pythons():
    draw = random.Random(0)
    for _ in range(200):
        source = random_sum(draw, draw.randint(1, 4))
        try:
            right = eval(compile(ast.parse(source, mode="eval"), "", "eval"), {})
        except ZeroDivisionError:
            continue
        assert value(source) == pytest.approx(right, rel=1e-12)


@pytest.mark.parametrize(
    ("source", "right"),
    [
        ("2 ** 3 ** 1", 8),
        ("-2 ** 2", -4),
        ("not 1 == 2 and 1 < 2", True),
        ("1 == 2 or 2 <= 2", True),
        ("isclose(1, 1.05, within=0.1)", True),
        ("not isclose(1, 1.05, within=0.1)", False),
        ("sum(p, over=key) == 1", True),
        ("max(sum(p, over=query))", TABLE.sum(axis=0).max()),
        ('p.at(query="was", key=1)', 0.7),
        ('p.at(writing="was", key=0)', 0.5),
        ('argmax(p.at(query="it"))', "a"),
        ("size(p, over=key) + size(p)", 9),
        ("dot(p.at(query=0), p.at(query=1))", float(TABLE[0] @ TABLE[1])),
        ("variance(p.at(query=1))", float(TABLE[1].var())),
        ("entropy(p.at(query=1))", -float(TABLE[1] @ np.log(TABLE[1]))),
        ("max(softmax(p.at(query=1)))", math.exp(0.7) / float(np.exp(TABLE[1]).sum())),
        ("learning_rate(4000, 512, 4000)", (512 * 4000) ** -0.5),
    ],
)
def test_what_an_expression_comes_to(source: str, right: object):
    actual = value(source)
    assert actual == (pytest.approx(right) if isinstance(right, float) else right)


@pytest.mark.parametrize(
    ("source", "part"),
    [
        ("1 +", "“1 +▸” is not a Python expression"),
        ("(1", "“▸(1” is not a Python expression"),
        ("1 2", "“1 ▸2” is not a Python expression"),
        ("p; 1", "“p▸; 1” is not a Python expression"),
        *((source, "no function “") for source in ("exec(1)", "__import__('os')", "open('x')", "eval('1')")),
        *((source, "cannot be used here") for source in REFUSED),
        ("1, 2", "remove the comma"),
        ("p.at(key)", "an axis and a position"),
        ("p.at(**p)", "an axis and a position"),
        ("p[1 + 1]", "names and numbers"),
        ("right", "“right” must be followed by a quantity"),
        ("isclose(1, 2)", "such as isclose(a, b, within=0.01)"),
        ('p.at(query="you")', "no query “you”"),
        ('p.at(key="b")', "appears 2 times"),
        ("p.at(head=0)", "no axis “head”"),
        ("p.at(query=2)", "only 0 to 1"),
        ("p == 1 and 2", "connects comparisons"),
        ('"a" + 1', "needs numbers"),
        ('"a" < "b"', "cannot be compared"),
        ("argmax(p)", "one row"),
        ("p * p.at(query=0)", "same shape"),
        ("sum(1, 2)", "wrong number of arguments for “sum”; expected 1"),
        ("-" * 41 + "1", "too deep"),
        ("1" * 401, "400 characters"),
    ],
)
def test_what_cannot_be_read_is_said(source: str, part: str):
    with pytest.raises(ExpressionError, match=re.escape(part)):
        value(source)


@pytest.mark.parametrize(
    ("former", "new"),
    [
        ('p at query "it", key 1 < 2', 'p.at(query="it", key=1) < 2'),
        ("sum(p over key)", "sum(p, over=key)"),
        ("p == 1 within 1e-5", "isclose(a, b, within=1e-5)"),
        ("right p[cross, 1]", "right.p"),
        ("max(p) ^ 2", "** 2"),
    ],
)
def test_the_syntax_of_earlier_versions_is_answered_with_the_new_one(former: str, new: str):
    with pytest.raises(ExpressionError) as raised:
        parse(former)
    message = str(raised.value)
    assert "is the syntax of earlier versions; write " in message
    assert message.partition("; write ")[2].rstrip(")") in new


def test_the_quantities_of_an_expression_are_named_without_the_names_in_brackets():
    tree = parse('isclose(right.loss.at(step=1), sum(card[trained, x], over=step), within=0.1) and p.at(writing="aim")')
    assert {*quantities_in(tree)} == {"loss", "card", "p", "sum", "isclose", "step"}


def test_words_of_results():
    assert str(in_words(True)) == "true"
    assert str(in_words("il")) == "“il”"
    assert str(in_words(Values(array=np.array(-0.5)))) == "−0.5"
    assert str(in_words(quantity("p", (), ""))) == "values of shape query 2 × key 3"
