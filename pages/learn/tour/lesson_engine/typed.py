"""Numbers as people type them: 28, 1,8, 1/3, sqrt(128), √128, 2^7. Nothing that is typed is run as a program."""

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping

from headlight.expressions import Evaluator, Grammar
from pages.learn.tour.lesson_engine.errors import ExpressionError

MOST_LETTERS = 100  # of what is typed
_SPELLINGS = str.maketrans({"\u2212": "-", "\u2013": "-", "×": "*", "·": "*", "÷": "/", ",": ".", "^": "**"})
_GROUPED = re.compile(r"[1-9]\d{0,2}(?:([,.'’\s])\d{3})(?:\1\d{3})*")  # in thousands: 119,808 and 119 808
_ROOT = re.compile(r"√\s*(\d+(?:\.\d+)?|(?=\())")
_GRAMMAR = Grammar(
    error=ExpressionError,
    nodes=(
        *(ast.Constant, ast.Name, ast.Load, ast.Call, ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow),
        *(ast.UnaryOp, ast.UAdd, ast.USub),
    ),
    most_nodes=4 * MOST_LETTERS,
    most_depth=MOST_LETTERS,
)
_OPERATORS: Mapping[str, Callable[[float, float], float]] = {
    **{"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "**": math.pow},
}
_FUNCTIONS: Mapping[str, Callable[[float], float]] = {
    "sqrt": math.sqrt,
    "exp": math.exp,
    "log": math.log,
    "ln": math.log,
}


def readings_typed(given: str) -> list[float]:
    """Return the numbers that a person can mean: 119,808 is 119.808, and 119808 with its thousands grouped.

    Args:
        given: as for `number_typed`, or a number grouped in thousands.

    Returns:
        One or two numbers; none where it is no number.
    """
    found = [] if (number := _decimal_typed(given)) is None else [number]
    if len(given) <= MOST_LETTERS and _GROUPED.fullmatch(given.strip()):
        found.append(float(re.sub(r"\D", "", given)))
    return found


def number_typed(given: str) -> float | None:
    """Return a number as a person types it, with a decimal comma too, or as simple arithmetic; None where it is none.

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
            value = _Arithmetic().value(_GRAMMAR.parse(source))
        except (ExpressionError, ValueError, ArithmeticError):
            return None
    return value if math.isfinite(value) else None


class _Arithmetic(Evaluator[float]):
    """Arithmetic of numbers; raises ValueError or ArithmeticError for anything else, such as 1/0."""

    def constant(self, value: object) -> float:
        """Return a number."""
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        raise ValueError("not a number")

    def unary(self, sign: str, value: float) -> float:
        """Return the number with its sign."""
        return -value if sign == "-" else value

    def binary(self, sign: str, left: float, right: float) -> float:
        """Return the result of an operator."""
        return _OPERATORS[sign](left, right)

    def name(self, name: str) -> float:
        """Refuse a name that is not called."""
        raise ValueError("not a number")

    def other(self, node: ast.expr) -> float:
        """Return the value of a function."""
        match node:
            case ast.Call(ast.Name(name), [of], []) if name in _FUNCTIONS:
                return _FUNCTIONS[name](self.value(of))
        raise ValueError("not arithmetic")
