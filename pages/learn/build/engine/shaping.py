"""The same numbers in another order or shape, and several arrays as one."""

from math import prod

import numpy as np

from pages.learn.build.engine.values import (
    Budget,
    LineError,
    Value,
    array,
    axis_of,
    floats,
    shape_in_words,
    spread,
    whole,
)

MOST_PARTS = 256  # that are joined at once


def transpose(budget: Budget, input: Value, *axes: Value) -> Value:
    """Swap two dimensions, as torch does; with all of them named put them in that order, with none reverse them."""
    x = array(input)
    if len(axes) == 2:
        return x.swapaxes(axis_of(axes[0], x.ndim), axis_of(axes[1], x.ndim))
    return permute(budget, x, *axes) if axes else x.T


def swapaxes(budget: Budget, input: Value, dim0: Value, dim1: Value) -> Value:
    """Swap two dimensions."""
    return transpose(budget, input, dim0, dim1)


def matrix_transpose(value: Value) -> np.ndarray:
    """Swap the last two dimensions."""
    x = array(value)
    if x.ndim < 2:
        raise LineError("this needs a matrix; the array has shape {shape}", shape=shape_in_words(x))
    return x.swapaxes(-2, -1)


def matrix_t(budget: Budget, input: Value) -> np.ndarray:
    """Swap the dimensions of a matrix, as torch's t does."""
    x = array(input)
    if x.ndim > 2:
        raise LineError("t transposes a matrix; the array has shape {shape}", shape=shape_in_words(x))
    return x.T


def permute(budget: Budget, input: Value, *dims: Value) -> Value:
    """Put all dimensions in another order."""
    x = array(input)
    order = [axis_of(one, x.ndim) for one in spread(dims)]
    if sorted(order) != [*range(x.ndim)]:
        raise LineError("name each of the {n} dimensions once", n=x.ndim)
    return x.transpose(order)


def reshape(budget: Budget, input: Value, *shape: Value) -> Value:
    """Return the same numbers in another shape; -1 stands for what is left."""
    x, sizes = array(input), [whole(size) for size in spread(shape)]
    n_known = prod(size for size in sizes if size != -1)
    if -1 in sizes and n_known > 0 and not x.size % n_known:
        sizes[sizes.index(-1)] = x.size // n_known
    if min(sizes, default=1) < 0 or prod(sizes) != x.size:
        raise LineError(
            "{shape} has {n:,} numbers, which do not fill the shape {wanted}",
            shape=shape_in_words(x),
            n=x.size,
            wanted=str(sizes)[:60],
        )
    budget.take(sizes)
    return x.reshape(sizes)


def flatten(budget: Budget, input: Value, start_dim: Value = 0, end_dim: Value = -1) -> Value:
    """Merge neighbouring dimensions."""
    x = array(input)
    first, last = axis_of(start_dim, x.ndim), axis_of(end_dim, x.ndim)
    merged = prod(x.shape[first : last + 1])
    return reshape(budget, x, *x.shape[:first], merged, *x.shape[last + 1 :])


def unsqueeze(budget: Budget, input: Value, dim: Value) -> Value:
    """Insert a dimension of size 1."""
    x = array(input)
    shape = [*x.shape]
    shape.insert(axis_of(dim, x.ndim + 1), 1)
    return reshape(budget, x, *shape)


def size(budget: Budget, input: Value, dim: Value = None) -> Value:
    """Return the shape, or the size of one dimension."""
    x = array(input)
    return x.shape if dim is None else x.shape[axis_of(dim, x.ndim)]


def concat(budget: Budget, tensors: Value, dim: Value = 0) -> Value:
    """Return arrays joined along a dimension; of an array those along its first one."""
    joined = tensors if isinstance(tensors, tuple) else np.atleast_1d(array(tensors))
    if len(joined) > MOST_PARTS:
        raise LineError("concat joins at most {n} arrays", n=MOST_PARTS)
    parts = [*map(array, joined)]
    if not parts or not parts[0].ndim:
        raise LineError("concat joins a list of arrays")
    axis, first = axis_of(dim, parts[0].ndim), parts[0].shape
    if any(part.ndim != len(first) or _without(part.shape, axis) != _without(first, axis) for part in parts):
        raise LineError("the arrays must have the same shape in all other dimensions")
    budget.take([*first[:axis], sum(part.shape[axis] for part in parts), *first[axis + 1 :]])
    return np.concatenate([floats(part) for part in parts], axis=axis)


def listed(budget: Budget, input: Value, dim: Value = 0) -> Value:
    """Return the result of `list` and `unbind`, arrays along a dimension, as one array, for `concat`."""
    x = array(input)
    return np.moveaxis(x, axis_of(dim, x.ndim), 0)


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return shape[:axis] + shape[axis + 1 :]
