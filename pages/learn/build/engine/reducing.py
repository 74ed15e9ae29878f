"""One number for many: sums and maxima along dimensions, and the softmax."""

from collections.abc import Callable

import numpy as np

from pages.learn.build.engine.arithmetic import elementwise, exp
from pages.learn.build.engine.values import Budget, LineError, Value, array, axis_of, floats, plain, spread, whole


def total(budget: Budget, input: Value, dim: Value = None, keepdim: Value = False) -> Value:
    """Return the sum over some dimensions, or over all."""
    return _reduced(np.add.reduce, budget, input, dim, keepdim)


def mean(budget: Budget, input: Value, dim: Value = None, keepdim: Value = False) -> Value:
    """Return the mean over some dimensions, or over all."""
    return _reduced(np.mean, budget, input, dim, keepdim)


def largest(budget: Budget, input: Value, dim: Value = None, keepdim: Value = False) -> Value:
    """Return the largest number along some dimensions, or of all."""
    return _reduced(np.maximum.reduce, budget, input, dim, keepdim)


def _reduced(function: Callable[..., np.ndarray], budget: Budget, input: Value, dim: Value, keepdim: Value) -> Value:
    """Return what a function makes of the numbers along some dimensions, or of all."""
    x = floats(array(input))
    axes = tuple({axis_of(one, x.ndim) for one in spread((dim,))}) if dim is not None else tuple(range(x.ndim))
    if not x.size:
        raise LineError("this array is empty")
    budget.take([n for axis, n in enumerate(x.shape) if axis not in axes])
    return plain(np.asarray(function(x, axis=axes, keepdims=bool(whole(keepdim)))))


def softmax(budget: Budget, input: Value, dim: Value = None) -> Value:
    """Return the softmax along a dimension.

    Raises:
        LineError: no dimension is named.
    """
    if dim is None:
        raise LineError("softmax needs a dimension: softmax(…, dim=…)")
    powers = exp(budget, elementwise("-", budget, input, largest(budget, input, dim, True)))
    return elementwise("/", budget, powers, total(budget, powers, dim, True))
