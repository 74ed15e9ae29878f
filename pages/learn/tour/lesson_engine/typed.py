"""Numbers as people type them: 28, 1,8, 1/3, sqrt(128), √128, 2^7; arithmetic is an expression of the lessons."""

import math
import re
from typing import NoReturn

from pages.learn.tour.lesson_engine.errors import ExpressionError
from pages.learn.tour.lesson_engine.expressions import evaluate, parse
from pages.learn.tour.lesson_engine.value import Values

MOST_LETTERS = 100  # of what is typed
_SPELLINGS = str.maketrans({"\u2212": "-", "\u2013": "-", "×": "*", "·": "*", "÷": "/", ",": ".", "^": "**"})
_GROUPED = re.compile(r"[1-9]\d{0,2}(?:([,.'’\s])\d{3})(?:\1\d{3})*")  # in thousands: 119,808 and 119 808
_ROOT = re.compile(r"√\s*(\d+(?:\.\d+)?|(?=\())")


def readings_typed(given: str) -> list[float]:
    """Return the numbers that a person can mean: 119,808 is 119.808, and 119808 with its thousands grouped.

    Args:
        given: as for `number_typed`, or a number grouped in thousands.

    Returns:
        One or two numbers; none where it is not a number.
    """
    result = [] if (number := _decimal_typed(given)) is None else [number]
    if len(given) <= MOST_LETTERS and _GROUPED.fullmatch(given.strip()):
        result.append(float(re.sub(r"\D", "", given)))
    return result


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
            result = evaluate(parse(re.sub(r"\bln\b", "log", source)), _no_quantity)
            value = result.number if isinstance(result, Values) else math.nan
        except ExpressionError:
            return None
    return value if math.isfinite(value) else None


def _no_quantity(name: str, *_: object) -> NoReturn:
    raise ExpressionError("“{name}” is not a number", name=name)
