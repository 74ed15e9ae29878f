"""What is computed cell by cell, in the spellings of torch and of NumPy; no operation changes what it is given."""

import operator
import re
from collections.abc import Callable, Mapping

import numpy as np

from pages.learn.build.engine.values import (
    PLAIN_NUMBERS,
    UNFIT,
    Budget,
    LineError,
    Value,
    array,
    floats,
    integer,
    plain,
    sides,
)

MOST_EXPONENT = 64


def elementwise(sign: str, budget: Budget, left: Value, right: Value) -> Value:
    """Return + - * / // ** or a comparison of numbers or arrays, cell by cell.

    Raises:
        LineError: the shapes do not fit, or it is too large.
    """
    if isinstance(left, PLAIN_NUMBERS) and isinstance(right, PLAIN_NUMBERS):
        return _of_numbers(sign, left, right)
    a, b = array(left), array(right)
    try:
        shape = np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        raise LineError(UNFIT, **sides(a, b), sign=sign) from None
    budget.take(shape)
    if sign in _COMPARISONS:
        return _COMPARISONS[sign](a, b)
    if sign == "**":
        _check_exponent(float(np.abs(b).max(initial=0)))
    return _ARITHMETIC[sign](floats(a), floats(b))


def _of_numbers(sign: str, left: float, right: float) -> Value:
    """Return an operation on two numbers; what NumPy has for what Python refuses, such as 1 / 0."""
    if sign in _COMPARISONS:
        return bool(_COMPARISONS[sign](left, right))
    if sign == "**":
        _check_exponent(abs(right))
    is_whole = right >= 0 if sign == "**" else right or sign != "//"
    if isinstance(left, int) and isinstance(right, int) and sign in _OF_INTEGERS and is_whole:
        return integer(_OF_INTEGERS[sign](left, right))
    return float(_ARITHMETIC[sign](np.float64(left), np.float64(right)))


def _check_exponent(size: float) -> None:
    if not size <= MOST_EXPONENT:
        raise LineError("an exponent may be at most {most}", most=MOST_EXPONENT)


def negative(budget: Budget, value: Value) -> Value:
    """Return the value with the other sign."""
    if isinstance(value, PLAIN_NUMBERS):
        return -value
    budget.take(array(value).shape)
    return -floats(array(value))


def inverted(budget: Budget, value: Value) -> Value:
    """Return the opposite of a mask.

    Raises:
        LineError: it is not one.
    """
    if isinstance(value, np.ndarray) and value.dtype == bool:
        budget.take(value.shape)
        return ~value
    if isinstance(value, bool):
        return not value
    raise LineError("~ inverts a Boolean mask, but this array contains numbers")


def exp(budget: Budget, input: Value) -> Value:
    """Return e to the power of each number."""
    return _of_each(np.exp, budget, input)


def sqrt(budget: Budget, input: Value) -> Value:
    """Return the square root of each number."""
    return _of_each(np.sqrt, budget, input)


def _of_each(function: Callable[[np.ndarray], np.ndarray], budget: Budget, input: Value) -> Value:
    x = array(input)
    budget.take(x.shape)
    return plain(np.asarray(function(floats(x))))


def masked_fill(budget: Budget, input: Value, mask: Value, value: Value) -> Value:
    """Return the array with a value where the mask is True."""
    return where(budget, mask, value, input)


def where(budget: Budget, condition: Value, input: Value, other: Value) -> Value:
    """Return the first where the mask is True, and the second where it is False.

    Raises:
        LineError: the condition is no mask, or the shapes do not fit.
    """
    mask, a, b = array(condition), array(input), array(other)
    if mask.dtype != bool:
        raise LineError("a Boolean mask is needed here; use mask or ~mask")
    try:
        shape = np.broadcast_shapes(mask.shape, a.shape, b.shape)
    except ValueError:
        raise LineError(UNFIT, **sides(mask, a), sign="→") from None
    budget.take(shape)
    return np.where(mask, floats(a), floats(b))


def number(budget: Budget, value: Value) -> Value:
    """Return what `float` makes of a number, or of the texts that mean infinity.

    Raises:
        LineError: it is something else.
    """
    if isinstance(value, str) and re.fullmatch(r"[+-]?inf(inity)?", value.strip().lower()):
        return float(value)
    if isinstance(value, PLAIN_NUMBERS):
        return float(value)
    raise LineError('float takes a number, or "-inf"')


_COMPARISONS: Mapping[str, Callable[..., Value]] = {
    **{"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne}
}
_OF_INTEGERS: Mapping[str, Callable[[int, int], int]] = {
    **{"+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "**": operator.pow}
}
_ARITHMETIC: Mapping[str, np.ufunc] = {
    **{"+": np.add, "-": np.subtract, "*": np.multiply},
    **{"/": np.divide, "//": np.floor_divide, "**": np.power},
}
