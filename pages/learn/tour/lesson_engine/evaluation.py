"""What an expression comes to, on the numbers of a model."""

import math
from typing import Protocol, runtime_checkable

import numpy as np

from pages.learn.tour.lesson_engine import syntax as tree
from pages.learn.tour.lesson_engine.errors import ExpressionError
from pages.learn.tour.lesson_engine.functions import call
from pages.learn.tour.lesson_engine.syntax import COMPARISONS, Expression
from pages.learn.tour.lesson_engine.value import Axis, Result, Values, number
from transformer_core.errors import Message


@runtime_checkable
class Knows(Protocol):
    """Has the quantities that expressions ask for."""

    def quantity(self, name: str, parts: tuple[str | float, ...], *, of: str = "") -> Result:
        """Return a quantity of the model by its name.

        Raises:
            ExpressionError: there is none.
        """
        ...


def evaluate(of: Expression, knows: Knows) -> Result:
    """Return what an expression comes to.

    Args:
        of: as `parse` read it.
        knows: has the model's numbers.

    Raises:
        ExpressionError: it asks for what is not there, or joins what cannot be joined.
    """
    match of:
        case tree.Number(value):
            return number(value)
        case tree.Text(value):
            return value
        case tree.Quantity(name, parts, of_which):
            return knows.quantity(name, parts, of=of_which)
        case tree.At(inner, axis, place):
            return _numbers(evaluate(inner, knows), "at").at(axis, place)
        case tree.Call(name, given, over):
            return call(name, [evaluate(part, knows) for part in given], over)
        case tree.Negated("not", inner):
            return not _truth(evaluate(inner, knows), "not")
        case tree.Negated(_, inner):
            values = _numbers(evaluate(inner, knows), "-")
            return Values(array=np.asarray(-values.array.astype(np.float64)), axes=values.axes)
        case tree.Joined("or", left, right, _):
            found = [_truth(evaluate(part, knows), "or") for part in (left, right)]  # both: a fault is always told
            return any(found)
        case tree.Joined("and", left, right, _):
            found = [_truth(evaluate(part, knows), "and") for part in (left, right)]
            return all(found)
        case tree.Joined(sign, left, right, within):
            one, other = evaluate(left, knows), evaluate(right, knows)
            if sign in COMPARISONS:
                apart = None if within is None else _numbers(evaluate(within, knows), "within").number
                return _compare(sign, one, other, apart)
            return _calculate(sign, _numbers(one, sign), _numbers(other, sign))
    raise AssertionError(of)


def _numbers(value: Result, sign: str) -> Values:
    if not isinstance(value, Values):
        raise ExpressionError("“{sign}” needs numbers, not {what}", sign=sign, what=in_words(value))
    return value


def _truth(value: Result, sign: str) -> bool:
    if not isinstance(value, bool):
        raise ExpressionError(
            "“{sign}” connects comparisons, such as a < b, not {what}", sign=sign, what=in_words(value)
        )
    return value


def _calculate(sign: str, one: Values, other: Values) -> Values:
    axes = _common_axes(sign, one, other)
    left, right = (values.array.astype(np.float64) for values in (one, other))
    with np.errstate(all="ignore"):
        match sign:
            case "+":
                array = left + right
            case "-":
                array = left - right
            case "*":
                array = left * right
            case "/":
                array = left / right
            case _:
                array = left**right
    return Values(array=np.asarray(array), axes=axes)


def _common_axes(sign: str, one: Values, other: Values) -> tuple[Axis, ...]:
    """Return the axes of what comes out: numbers of the same shape, or a single number with any."""
    if not one.axes or not other.axes:
        return one.axes or other.axes
    if [(axis.name, axis.size) for axis in one.axes] != [(axis.name, axis.size) for axis in other.axes]:
        raise ExpressionError(
            "“{sign}” needs values of the same shape, not {left} and {right}",
            sign=sign,
            left=one.in_words(),
            right=other.in_words(),
        )
    return one.axes


def _compare(sign: str, one: Result, other: Result, within: float | None) -> bool:
    if isinstance(one, Values) and isinstance(other, Values):
        _common_axes(sign, one, other)
        left, right = np.asarray(one.array, dtype=np.float64), np.asarray(other.array, dtype=np.float64)
        if within is not None and sign in ("==", "!="):
            is_same = bool(np.all((left == right) | (np.abs(left - right) <= within)))
            return is_same if sign == "==" else not is_same
        compared = {
            "==": np.equal,
            "<": np.less,
            "<=": np.less_equal,
            ">": np.greater,
            ">=": np.greater_equal,
        }
        if sign == "!=":
            return not bool(np.all(left == right))
        return bool(np.all(compared[sign](left, right)))
    if isinstance(one, str) and isinstance(other, str) and sign in ("==", "!=") and within is None:
        return (one == other) == (sign == "==")
    raise ExpressionError(
        "{left} and {right} cannot be compared with “{sign}”", left=in_words(one), right=in_words(other), sign=sign
    )


def in_words(value: Result, decimals: int | None = None) -> Message:
    """Return what an expression came to, for a person.

    Args:
        value: the result.
        decimals: of a number; None: four digits that count.
    """
    if isinstance(value, bool):
        return Message("true") if value else Message("false")
    if isinstance(value, str):
        return Message(f"“{value}”")
    if value.axes:
        return Message("values of shape {shape}", shape=value.in_words())
    return Message(plain_number(float(value.array), decimals))


def plain_number(value: float, decimals: int | None = None) -> str:
    """Return a number for a sentence, with a true minus."""
    if decimals is not None:
        text = f"{value:.{decimals}f}"
    elif math.isfinite(value) and value == round(value) and abs(value) < 1e9:
        text = f"{value:.0f}"
    else:
        text = f"{value:.4g}"
    return text.replace("-", "\u2212") if "e" not in text else text
