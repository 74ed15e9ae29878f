"""Numbers as people type them: 28, 1,8, 1/3, sqrt(128), √128, 2^7. Nothing that is typed is run as a program."""

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping

MOST_LETTERS = 100  # of what is typed
_SIGNS = str.maketrans({"\u2212": "-", "\u2013": "-", "×": "*", "·": "*", "÷": "/", ",": "."})
_GROUPED = re.compile(r"[1-9]\d{0,2}(?:([,.'’\s])\d{3})(?:\1\d{3})*")  # in thousands: 119,808 and 119 808
_ROOT = re.compile(r"√\s*(\d+(?:\.\d+)?|(?=\())")
_JOINED: Mapping[type, Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: math.pow,
}
_SIGNED: Mapping[type, Callable[[float], float]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}
_FUNCTIONS: Mapping[str, Callable[[float], float]] = {
    "sqrt": math.sqrt,
    "exp": math.exp,
    "log": math.log,
    "ln": math.log,
}


def readings_typed(given: str) -> list[float]:
    """Return what a person can mean who types a number: 119,808 is 119.808, and 119808 with its thousands grouped.

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
    source = given.strip().translate(_SIGNS)
    try:
        value = float(source)
    except ValueError:
        source = _ROOT.sub(lambda root: f"sqrt({root[1]})" if root[1] else "sqrt", source)
        try:
            value = _value(ast.parse(source.replace("^", "**"), mode="eval").body)
        except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError):
            return None
    return value if math.isfinite(value) else None


def _value(node: ast.AST) -> float:
    """Return what a part of the arithmetic comes to.

    Raises:
        ValueError: it is something else than arithmetic.
        ArithmeticError: it has no value, as 1/0.
    """
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return float(number)
        case ast.BinOp(left, sign, right) if type(sign) in _JOINED:
            return _JOINED[type(sign)](_value(left), _value(right))
        case ast.UnaryOp(sign, of) if type(sign) in _SIGNED:
            return _SIGNED[type(sign)](_value(of))
        case ast.Call(func=ast.Name(name), args=[of], keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](_value(of))
    raise ValueError("no arithmetic")
