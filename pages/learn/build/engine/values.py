"""The values of a learner's line: arrays of float64 or bool, numbers, and tuples of values; and their budget.

Each function raises LineError if a value has the wrong type or does not fit. Those at the end reorder or reshape an
array, or join several.

Numbers and products are counted, not seconds: a line that is refused is refused on every machine, and what is allowed
takes about a second at most on one core.
"""

import sys
from collections.abc import Sequence
from math import prod
from typing import TypeAlias, Union

import numpy as np

from transformer_core.errors import HeadlightError, mark

Value: TypeAlias = Union[np.ndarray, int, float, bool, str, "tuple[Value, ...]", None]
MOST_INTEGER = 1 << 53  # above it float64 does not represent every integer
PLAIN_NUMBERS = (int, float)  # bool is an int

MOST_NUMBERS = 1 << 22  # of one array: 32 MiB
MOST_NUMBERS_TOGETHER = 1 << 24  # of all arrays of a run
MOST_PRODUCTS = 1 << 31  # of all matrix products of a run
MOST_AXES = 6
MOST_PARTS = 256  # arrays in one concat
TOO_LARGE = mark(
    "this would make an array of shape {shape}; an array may have at most {most:,} numbers and {axes} dimensions"
)


class LineError(HeadlightError):
    """A line that cannot be read, asks for something that is not allowed, or does not fit its variables."""


class Budget:
    """Counts what a run has taken.

    Attributes:
        n_numbers: of all arrays so far.
        n_products: of all matrix products so far.
    """

    def __init__(self, n_lines: int = 1) -> None:
        """Start an unused budget for this number of lines."""
        self._n_lines = n_lines
        self.n_numbers = 0
        self.n_products = 0

    def take(self, shape: Sequence[int], n_products: int = 0) -> None:
        """Charge the budget for an array of this shape, and for the products that are summed into it.

        Raises:
            LineError: the array is too large, or the budget is exhausted.
        """
        size = prod(n for n in shape if n)  # NumPy rejects even an empty array if the other sizes are too large
        if size > MOST_NUMBERS or len(shape) > MOST_AXES:
            raise LineError(TOO_LARGE, shape=str([*shape])[:60], most=MOST_NUMBERS, axes=MOST_AXES)
        n_numbers, all_products = self.n_numbers + size, self.n_products + n_products
        if n_numbers > self._n_lines * MOST_NUMBERS_TOGETHER or all_products > self._n_lines * MOST_PRODUCTS:
            raise LineError("this line computes too much; use fewer or smaller operations")
        self.n_numbers, self.n_products = n_numbers, all_products


def shape_in_words(value: object) -> str:
    """Return a shape as torch writes it."""
    return str([*value.shape]) if isinstance(value, np.ndarray) else "[]"


def described(value: Value) -> str:
    """Return a short description of a value."""
    if isinstance(value, np.ndarray):
        return shape_in_words(value)
    return "(…)" if isinstance(value, tuple) else repr(value)[:40]


def array(value: Value) -> np.ndarray:
    """Return a value that has to be an array or a number as an array."""
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, PLAIN_NUMBERS):
        return np.array(value, dtype=bool if isinstance(value, bool) else np.float64)
    raise LineError("an array is needed here, not {what}", what=described(value))


def floats(values: np.ndarray) -> np.ndarray:
    """Return an array in float64, without a copy if it already is."""
    return values.astype(np.float64, copy=False)


def plain(value: np.ndarray) -> Value:
    """Return an array, or a Python number if it has no axes."""
    return value if value.ndim else value.item()


def whole(value: Value) -> int:
    """Return a value that has to be a whole number."""
    if isinstance(value, int):
        return int(value)
    raise LineError("a whole number is needed here, not {what}", what=described(value))


def integer(value: int) -> int | float:
    """Return an integer, or a float if it exceeds the integers that float64 represents exactly."""
    try:
        return int(value) if abs(value) <= MOST_INTEGER else float(value)
    except OverflowError:
        raise LineError("a number may have at most {n} digits", n=sys.float_info.max_10_exp) from None


def axis_of(value: Value, n_axes: int) -> int:
    """Return an axis, counted from 0."""
    axis = whole(value)
    if not -n_axes <= axis < n_axes:
        raise LineError("there is no dimension {axis}; the array has {n}", axis=axis, n=n_axes)
    return axis % n_axes


def spread(values: tuple[Value, ...]) -> tuple[Value, ...]:
    """Return several arguments, also if they were given as one tuple."""
    return values[0] if len(values) == 1 and isinstance(values[0], tuple) else values


def broadcast(sign: str, *shapes: tuple[int, ...], n_matrix_axes: int = 0) -> tuple[int, ...]:
    """Return the broadcast shape of arrays, without their last `n_matrix_axes` dimensions."""
    try:
        return np.broadcast_shapes(*(shape[: len(shape) - n_matrix_axes] for shape in shapes))
    except ValueError:
        left, right, *_ = (str([*shape]) for shape in shapes)
        raise LineError(
            "{left} {sign} {right}: the shapes do not fit together", left=left, sign=sign, right=right
        ) from None


def sides(left: np.ndarray, right: np.ndarray) -> dict[str, str]:
    """Return the shapes of two arrays, for a message about both."""
    return {"left": shape_in_words(left), "right": shape_in_words(right)}


def transpose(budget: Budget, input: Value, *axes: Value) -> Value:
    """Swap two dimensions, as torch does; reorder them if all are named, reverse them if none is."""
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
    """Return the array in another shape; -1 stands for the inferred size."""
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
    """Concatenate arrays along a dimension; a single array stands for those along its first dimension."""
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
    """Return the result of `list` and `unbind` as one array for `concat`, with the dimension moved to the front."""
    x = array(input)
    return np.moveaxis(x, axis_of(dim, x.ndim), 0)


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return shape[:axis] + shape[axis + 1 :]
