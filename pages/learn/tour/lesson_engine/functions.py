"""The functions of the lessons' language. Reductions take an axis: sum(x, over=key)."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from pages.learn.tour.lesson_engine.lesson import ExpressionError
from pages.learn.tour.lesson_engine.value import Result, Values, number

Array = np.ndarray
_REDUCING: Mapping[str, Callable[..., Array]] = {  # reductions, over all numbers or along an axis
    "sum": np.sum,
    "mean": np.mean,
    "max": np.max,
    "min": np.min,
    "variance": np.var,
    "norm": lambda x, axis: np.sqrt(np.sum(np.square(x), axis=axis)),
    "count": lambda x, axis: np.sum(x != 0, axis=axis),
    "entropy": lambda x, axis: -np.sum(np.where(x > 0, x * np.log(np.where(x > 0, x, 1)), 0), axis=axis),
}
_ELEMENTWISE: Mapping[str, Callable[[Array], Array]] = {
    "abs": np.abs,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "log": np.log,
    "sin": np.sin,
    "cos": np.cos,
}
_ON_ROWS = ("softmax",)
_OF_ONE_ROW = ("argmax", "argmin")
NAMES = (*_REDUCING, *_ELEMENTWISE, *_ON_ROWS, *_OF_ONE_ROW, "size", "dot", "learning_rate")
"""All functions."""


def call(name: str, given: Sequence[Result], over: str = "") -> Result:
    """Return the value of a function.

    Args:
        name: of the function.
        given: its arguments.
        over: the axis to reduce; "" for all axes.

    Raises:
        ExpressionError: there is no such function, or it takes other arguments.
    """
    if name not in NAMES:
        raise ExpressionError("there is no function “{name}”, only {there}", name=name, there=", ".join(sorted(NAMES)))
    if name == "learning_rate":
        return _learning_rate(_numbers(name, given, 3))
    if name == "dot":
        return _dot(*_numbers(name, given, 2))
    (values,) = _numbers(name, given, 1)
    if name in _ELEMENTWISE:
        with np.errstate(all="ignore"):
            return Values(array=np.asarray(_ELEMENTWISE[name](values.array.astype(np.float64))), axes=values.axes)
    if name == "size":
        return number(values.axes[values.axis(over)].size if over else values.array.size)
    if name in _OF_ONE_ROW:
        return _best(name, values)
    along = values.axis(over) if over else None
    if name in _ON_ROWS:
        return _softmax(values, along)
    array = _REDUCING[name](values.array.astype(np.float64), axis=along)
    axes = () if along is None else (*values.axes[:along], *values.axes[along + 1 :])
    return Values(array=np.asarray(array), axes=axes)


def _numbers(name: str, given: Sequence[Result], n: int) -> list[Values]:
    results = [value for value in given if isinstance(value, Values)]
    if len(results) != len(given) or len(given) != n:
        raise ExpressionError("wrong number of arguments for “{name}”; expected {n}", name=name, n=n)
    return results


def _best(name: str, values: Values) -> Result:
    """Return the position of the largest or smallest number in a row, as its label if it has one."""
    if len(values.axes) != 1:
        raise ExpressionError(
            "“{name}” takes one row, got {shape}; select one with .at(…)", name=name, shape=values.in_words()
        )
    place = int(values.array.argmax() if name == "argmax" else values.array.argmin())
    labels = values.axes[0].labels
    return labels[place] if labels else number(place)


def _softmax(values: Values, along: int | None) -> Values:
    if along is None and len(values.axes) != 1:
        raise ExpressionError("“softmax” needs an axis: softmax(x, over=key)")
    x = values.array.astype(np.float64)
    raised = np.exp(x - x.max(axis=along or 0, keepdims=True))
    return Values(array=raised / raised.sum(axis=along or 0, keepdims=True), axes=values.axes)


def _dot(one: Values, other: Values) -> Values:
    """Return the dot product of two vectors."""
    if len(one.axes) != 1 or one.array.shape != other.array.shape:
        raise ExpressionError(
            "“dot” takes two vectors of the same width, not {left} and {right}",
            left=one.in_words(),
            right=other.in_words(),
        )
    return number(float(one.array.astype(np.float64) @ other.array.astype(np.float64)))


def _learning_rate(given: Sequence[Values]) -> Values:
    """Return the paper's learning rate at a step, given d_model and the number of warm-up steps."""
    from transformer_core.training.optimizer import warmup_learning_rate

    step, d_model, warmup = (int(value.number) for value in given)
    if min(step, d_model, warmup) < 1:
        raise ExpressionError(
            "“learning_rate” takes the step, d_model and the number of warm-up steps, each at least 1"
        )
    return number(warmup_learning_rate(step, d_model=d_model, warmup_steps=warmup))
