"""Expressions: the whitelist, the limits and the marks in errors, whatever a language makes of the values."""

import ast
import operator
import re
from dataclasses import replace

import pytest

from headlight.expressions import SIGNS, Evaluator, Grammar, excerpt
from transformer_core.errors import HeadlightError

ALL = Grammar(error=HeadlightError, nodes=(ast.AST,), most_nodes=1_000, most_depth=100)
SUMS = Grammar(
    error=HeadlightError, nodes=(ast.Constant, ast.BinOp, ast.Add, ast.UnaryOp, ast.USub), most_nodes=9, most_depth=4
)


BY_SIGN = {
    **{"+": operator.add, "-": operator.sub, "*": operator.mul, "**": operator.pow, "%": operator.mod},
    **{"<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt},
}


class Python(Evaluator[object]):
    """Numbers and truth values, as Python computes them."""

    def constant(self, value):
        return value

    def name(self, name):
        return {"one": 1, "two": 2}[name]

    def several(self, values):
        return values

    def unary(self, sign, value):
        return {"-": operator.neg, "+": operator.pos, "not": operator.not_, "~": operator.invert}[sign](value)

    def binary(self, sign, left, right):
        return BY_SIGN[sign](left, right)

    compare = binary

    def boolean(self, sign, values):
        return all(values) if sign == "and" else any(values)

    def other(self, node):
        raise LookupError(ast.unparse(node))


@pytest.mark.parametrize(
    "source",
    [
        *("2 ** 3 ** 2", "-2 ** 2", "1 - 2 - 3", "not 1 < two and True", "1 < two < 3", "1 < two < 2", "7 % 4 * two"),
        *("(1, [one, 2])", "one if two > 1 else 3", "~two + +one", "one == 1 or nothing", "1 > 2 and nothing"),
        "3 > two > nothing if False else one",
    ],
)
def test_operators_have_pythons_precedence_and_compute_no_more_than_needed(source: str):
    assert str(Python().value(ALL.parse(source))).replace("(1, 2)", "[1, 2]") == str(eval(source, {"one": 1, "two": 2}))


def test_a_language_without_an_operator_raises_and_every_operator_has_its_sign():
    with pytest.raises(AssertionError, match="does not compute it"):
        Evaluator[object]().value(ALL.parse("1 + 2"))
    assert {"<=", "not in", "and", "@", "//"} <= {*SIGNS.values()}


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("1 - 2", "“1 - 2” cannot be used here"),
        ("1 + x.y", "“x.y” cannot be used here"),
        ("1 + (lambda: 2)", "“lambda: 2” cannot be used here"),
        ("~1", "“~1” cannot be used here"),
        ("1 + 2 + 3 + 4", "this expression is too long: it has more than 9 parts"),
        ("----1", "this expression is nested too deeply; split it"),
        ("1" * 401, "an expression may have at most 400 characters; split it"),
        ("(" * 300, "this expression is nested|is not a Python expression"),
        ("1 +", re.escape("“1 +▸” is not a Python expression; check it at ▸")),
        ("1 1", "“1 ▸1” is not"),
        ("1 + " * 20 + ")", re.escape("“…" + "1 + " * 6 + "▸)” is not")),
        ("1\n2", "is not a Python expression"),
        ("import os", "“import▸ os”|“▸import os” is not"),
    ],
)
def test_anything_else_is_refused_in_one_sentence(source: str, sentence: str):
    with pytest.raises(HeadlightError, match=sentence):
        SUMS.parse(source)


def test_a_line_may_assign_its_result():
    for line in ("y = 1 + 2", " y=1+2 # a sum"):
        name, tree = SUMS.assignment(line)
        assert name == "y" and ast.unparse(tree) == "1 + 2"
    assert ALL.assignment("y == 1")[0] == ALL.assignment("f(y=1)")[0] == ""


def test_characters_may_be_refused_and_code_is_quoted_in_part():
    with pytest.raises(HeadlightError, match="the character “−” is not allowed"):
        replace(SUMS, foreign=re.compile("[^0-9+]")).parse("1−2")
    assert len(excerpt("1 + " * 20)) == 48 and excerpt(ast.parse("1+1", mode="eval").body) == "1 + 1"
