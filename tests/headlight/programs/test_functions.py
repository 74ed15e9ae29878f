"""Functions of programs compute what Python does, and can do nothing else."""

import ast
import random
from fractions import Fraction
from typing import Any

import pytest

from headlight.programs.functions import Function
from transformer_core.errors import ProgramError


def function(source: str) -> Function:
    return Function.of(ast.parse(source, mode="eval").body)


@pytest.mark.parametrize(
    "source",
    [
        "lambda x, y: x + y * 2 - x // 3 + y % 5",
        "lambda x, y: x < y <= 2 * x or x == y",
        "lambda x, y: not x and y > 2",
        "lambda x, y: (x, y) < (y, x)",
        "lambda x, y: max(x, y) - min(x, y, 3) + abs(-x)",
        "lambda x, y: (x, 'b', None)[y % 3] if y in (1, 2, 4) else str(x)",
        "lambda x, y: x != y and -x not in (y, 0)",
        "lambda x, y: int('7') + int(x > y)",
    ],
)
def test_it_computes_what_python_does(source: str):
    ours, pythons = function(source), eval(source)
    rng = random.Random(0)
    for _ in range(200):
        x, y = rng.randint(-9, 9), rng.randint(-9, 9)
        assert ours(x, y) == pythons(x, y), (x, y)
        assert type(ours(x, y)) is type(pythons(x, y))


@pytest.mark.parametrize(
    ("source", "value", "expected"),
    [
        *(("x / 4", 2, Fraction(1, 2)), ("x / 2", 4, 2), ("1 / x", 0, None), ("x < 1", None, None)),
        *(("x * 9", "a", None), ("int(x)", "a", None), ("x[5]", (1, 2), None), ("x == 1", True, True)),
    ],
)
def test_fractions_are_exact_and_what_is_not_defined_is_none(source: str, value: Any, expected: Any):
    assert function(f"lambda x: {source}")(value) == expected
    assert function(f"lambda x: {source}").is_defined(value) == (expected is not None)
    with pytest.raises(ProgramError, match="exceeds 1,000,000"):
        function("lambda x: x * x * x * x")(1000)


def test_values_that_are_equal_and_of_another_type_are_told_apart():
    written = function("lambda x: str(x)")
    assert [written(value) for value in (1, True, 1)] == ["1", "True", "1"]


@pytest.mark.parametrize(
    "source",
    [
        *("lambda x: x.real", "lambda x: x ** 9", "lambda x: x << 9", "lambda x: [x]", "lambda x: {x}"),
        *("lambda x: open(x)", "lambda x: __import__('os')", "lambda x: y", "lambda x: (lambda y: y)(x)"),
        *("lambda x: f'{x}'", "lambda x: b'a'", "lambda x: 1.5", "lambda x: x @ x", "lambda x: x is None"),
        *("lambda x: [y for y in x]", "lambda x: (y := x)", "lambda x: int(x, base=2)", "lambda x: max(*x)"),
        *("lambda: 1", "lambda *x: 1", "lambda x=1: x", "lambda **x: 1", "lambda x, /: x", "lambda *, x: x"),
        *("x", "print", "lambda x: ~x", "lambda x: await_(x)", "lambda x: x" + " + x" * 60, "lambda x: ..."),
    ],
)
def test_everything_else_is_refused(source: str):
    with pytest.raises(ProgramError):
        function(source)
