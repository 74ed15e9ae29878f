"""What a learner's line computes with: arrays of float64 or bool, numbers, and tuples of values."""

import sys
from typing import TypeAlias, Union

import numpy as np

from pages.learn.build.engine.errors import LineError
from transformer_core.errors import mark

Value: TypeAlias = Union[np.ndarray, int, float, bool, str, "tuple[Value, ...]", None]
MOST_INTEGER = 1 << 53  # beyond it float64 does not hold every whole number
PLAIN_NUMBERS = (int, float)  # bool is an int
UNFIT = mark("{left} {sign} {right}: the shapes do not fit together")


def shape_in_words(value: object) -> str:
    """Return a shape as torch writes it."""
    return str([*value.shape]) if isinstance(value, np.ndarray) else "[]"


def described(value: Value) -> str:
    """Return what a value is, in a few characters."""
    if isinstance(value, np.ndarray):
        return shape_in_words(value)
    return "(…)" if isinstance(value, tuple) else repr(value)[:40]


def array(value: Value) -> np.ndarray:
    """Return a value that has to be an array or a number as an array.

    Raises:
        LineError: it is something else.
    """
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, PLAIN_NUMBERS):
        return np.array(value, dtype=bool if isinstance(value, bool) else np.float64)
    raise LineError("an array is needed here, not {what}", what=described(value))


def floats(values: np.ndarray) -> np.ndarray:
    """Return an array in float64: itself, where it is."""
    return values.astype(np.float64, copy=False)


def plain(value: np.ndarray) -> Value:
    """Return an array; of one without axes its number."""
    return value if value.ndim else value.item()


def whole(value: Value) -> int:
    """Return a value that has to be a whole number.

    Raises:
        LineError: it is something else.
    """
    if isinstance(value, int):
        return int(value)
    raise LineError("a whole number is needed here, not {what}", what=described(value))


def integer(value: int) -> int | float:
    """Return a whole number; as a float where it is so large that float64 does not hold every one.

    Raises:
        LineError: it is larger than any float64.
    """
    try:
        return int(value) if abs(value) <= MOST_INTEGER else float(value)
    except OverflowError:
        raise LineError("a number may have at most {n} digits", n=sys.float_info.max_10_exp) from None


def axis_of(value: Value, n_axes: int) -> int:
    """Return an axis, counted from 0.

    Raises:
        LineError: there is no such axis.
    """
    axis = whole(value)
    if not -n_axes <= axis < n_axes:
        raise LineError("there is no dimension {axis}; the array has {n}", axis=axis, n=n_axes)
    return axis % n_axes


def spread(values: tuple[Value, ...]) -> tuple[Value, ...]:
    """Return several values, which may be given as one tuple."""
    return values[0] if len(values) == 1 and isinstance(values[0], tuple) else values


def sides(left: np.ndarray, right: np.ndarray) -> dict[str, str]:
    """Return the shapes of two arrays, for what is said of both."""
    return {"left": shape_in_words(left), "right": shape_in_words(right)}
