"""The operations that a learner's line may use, in the spellings of torch and of NumPy.

Values are NumPy arrays of float64 or bool, numbers, and tuples of values. An operation knows the shape of its result
before it computes it, and asks the budget. No operation changes an array that it is given.
"""

import operator
import re
from collections.abc import Callable, Mapping
from math import prod
from typing import TypeAlias, Union

import numpy as np

from pages.learn.build.engine.budget import Budget
from pages.learn.build.engine.errors import LineError
from transformer_core.errors import mark

Value: TypeAlias = Union[np.ndarray, int, float, bool, str, "tuple[Value, ...]", None]

MOST_OPERANDS = 3  # of einsum
SLOWER = 4  # times that einsum takes for a product, compared with matmul
MOST_EXPONENT = 64
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


def axis_of(value: Value, n_axes: int) -> int:
    """Return an axis, counted from 0.

    Raises:
        LineError: there is no such axis.
    """
    axis = whole(value)
    if not -n_axes <= axis < n_axes:
        raise LineError("there is no dimension {axis}; the array has {n}", axis=axis, n=n_axes)
    return axis % n_axes


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
        raise LineError(UNFIT, **_sides(a, b), sign=sign) from None
    budget.take(shape)
    if sign in _COMPARISONS:
        return _COMPARISONS[sign](a, b)
    if sign == "**":
        _check_exponent(float(np.abs(b).max(initial=0)))
    return _ARITHMETIC[sign](a.astype(np.float64, copy=False), b.astype(np.float64, copy=False))


def _of_numbers(sign: str, left: float, right: float) -> Value:
    """Return an operation on two numbers; what NumPy has for what Python refuses, such as 1 / 0."""
    if sign in _COMPARISONS:
        return bool(_COMPARISONS[sign](left, right))
    if sign == "**":
        _check_exponent(abs(right))
    if isinstance(left, int) and isinstance(right, int) and sign in _OF_INTEGERS and (right or sign != "//"):
        return integer(_OF_INTEGERS[sign](left, right))
    return float(_ARITHMETIC[sign](np.float64(left), np.float64(right)))


def integer(value: int) -> int | float:
    """Return a whole number; as a float where it is so large that float64 does not hold every one."""
    return int(value) if abs(value) <= MOST_INTEGER else float(value)


def _check_exponent(size: float) -> None:
    if not size <= MOST_EXPONENT:
        raise LineError("an exponent may be at most {most}", most=MOST_EXPONENT)


def negative(budget: Budget, value: Value) -> Value:
    """Return the value with the other sign."""
    if isinstance(value, PLAIN_NUMBERS):
        return -value
    budget.take(array(value).shape)
    return -array(value).astype(np.float64, copy=False)


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
    raise LineError("~ inverts a mask of True and False, and this holds numbers")


def matmul(budget: Budget, input: Value, other: Value) -> Value:
    """Return the matrix product of the last two dimensions, for each index of those before.

    Raises:
        LineError: the shapes do not fit, or it is too large.
    """
    a, b = array(input), array(other)
    if not a.ndim or not b.ndim:
        raise LineError("@ multiplies matrices, and one side is a number; use *")
    n, n_rows = a.shape[-1], b.shape[-2] if b.ndim > 1 else b.shape[0]
    if n != n_rows:
        raise LineError(
            "{left} @ {right}: the last dimension on the left ({n}) must equal the second-to-last on the right "
            "({n_rows}); transpose one of them, or use another",
            **_sides(a, b),
            n=n,
            n_rows=n_rows,
        )
    try:
        before = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise LineError(UNFIT, **_sides(a, b), sign="@") from None
    shape = (*before, *a.shape[-2:-1], *(b.shape[-1:] if b.ndim > 1 else ()))
    budget.take(shape, n_products=prod(shape) * n)
    return plain(np.asarray(a.astype(np.float64, copy=False) @ b.astype(np.float64, copy=False)))


def einsum(budget: Budget, subscripts: Value, *operands: Value) -> Value:
    """Return the sum that the subscripts describe, such as "qd,kd->qk".

    Raises:
        LineError: they do not fit the arrays, or it is too large.
    """
    found = re.fullmatch(
        r"([a-zA-Z]*(?:,[a-zA-Z]*)*)->([a-zA-Z]*)", subscripts.replace(" ", "") if isinstance(subscripts, str) else ""
    )
    arrays = [array(one) for one in operands]
    names, kept = (found[1].split(","), found[2]) if found else ([], "")
    fits = [*map(len, names)] == [one.ndim for one in arrays] and {*kept} <= {*"".join(names)}
    if not fits or not 0 < len(names) <= MOST_OPERANDS or len({*kept}) < len(kept):
        raise LineError('the subscripts must name each dimension of the arrays, as in "qd,kd->qk"')
    sizes: dict[str, int] = {}
    for letters, one in zip(names, arrays, strict=True):
        if any(sizes.setdefault(letter, n) != n for letter, n in zip(letters, one.shape, strict=True)):
            raise LineError("dimensions with the same letter must have the same size")
    n_products = SLOWER * len(arrays) * prod(sizes.values())
    budget.take([sizes[letter] for letter in kept], n_products=n_products)
    floats = [one.astype(np.float64, copy=False) for one in arrays]
    return plain(np.asarray(np.einsum(f"{','.join(names)}->{kept}", *floats)))


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
    """Swap the last two dimensions.

    Raises:
        LineError: it has fewer.
    """
    x = array(value)
    if x.ndim < 2:
        raise LineError("this needs a matrix; the array has shape {shape}", shape=shape_in_words(x))
    return x.swapaxes(-2, -1)


def permute(budget: Budget, input: Value, *dims: Value) -> Value:
    """Put all dimensions in another order."""
    x = array(input)
    order = [axis_of(one, x.ndim) for one in _spread(dims)]
    if sorted(order) != [*range(x.ndim)]:
        raise LineError("name each of the {n} dimensions once", n=x.ndim)
    return x.transpose(order)


def reshape(budget: Budget, input: Value, *shape: Value) -> Value:
    """Return the same numbers in another shape; -1 stands for what is left.

    Raises:
        LineError: the numbers do not fill that shape.
    """
    x, sizes = array(input), [whole(size) for size in _spread(shape)]
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
    x = array(input).astype(np.float64, copy=False)
    axes = tuple({axis_of(one, x.ndim) for one in _spread((dim,))}) if dim is not None else tuple(range(x.ndim))
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


def exp(budget: Budget, input: Value) -> Value:
    """Return e to the power of each number."""
    return _of_each(np.exp, budget, input)


def sqrt(budget: Budget, input: Value) -> Value:
    """Return the square root of each number."""
    return _of_each(np.sqrt, budget, input)


def _of_each(function: Callable[[np.ndarray], np.ndarray], budget: Budget, input: Value) -> Value:
    x = array(input)
    budget.take(x.shape)
    return plain(np.asarray(function(x.astype(np.float64, copy=False))))


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
        raise LineError("a mask of True and False is needed here; use mask or ~mask")
    try:
        shape = np.broadcast_shapes(mask.shape, a.shape, b.shape)
    except ValueError:
        raise LineError(UNFIT, **_sides(mask, a), sign="→") from None
    budget.take(shape)
    return np.where(mask, a.astype(np.float64, copy=False), b.astype(np.float64, copy=False))


def concat(budget: Budget, tensors: Value, dim: Value = 0) -> Value:
    """Return arrays joined along a dimension; of an array those along its first one.

    Raises:
        LineError: the shapes do not fit, or there is nothing to join.
    """
    parts = [array(one) for one in tensors] if isinstance(tensors, tuple) else [*array(tensors)]
    if not parts or not parts[0].ndim:
        raise LineError("concat joins a list of arrays")
    axis, first = axis_of(dim, parts[0].ndim), parts[0].shape
    if any(part.ndim != len(first) or _without(part.shape, axis) != _without(first, axis) for part in parts):
        raise LineError("the arrays must have the same shape in all other dimensions")
    budget.take([*first[:axis], sum(part.shape[axis] for part in parts), *first[axis + 1 :]])
    return np.concatenate([part.astype(np.float64, copy=False) for part in parts], axis=axis)


def listed(budget: Budget, input: Value, dim: Value = 0) -> Value:
    """Return what `list` and `unbind` give, arrays along a dimension, as one array: `concat` takes it."""
    x = array(input)
    return np.moveaxis(x, axis_of(dim, x.ndim), 0)


def number(budget: Budget, value: Value) -> Value:
    """Return what `float` makes of a number, or of the texts that mean infinity.

    Raises:
        LineError: it is something else.
    """
    if isinstance(value, str) and value.strip().lower().lstrip("+-") in ("inf", "infinity"):
        return float(value)
    if isinstance(value, PLAIN_NUMBERS):
        return float(value)
    raise LineError('float takes a number, or "-inf"')


def _spread(values: tuple[Value, ...]) -> tuple[Value, ...]:
    """Return several values, which may be given as one tuple."""
    return values[0] if len(values) == 1 and isinstance(values[0], tuple) else values


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return shape[:axis] + shape[axis + 1 :]


def _sides(left: np.ndarray, right: np.ndarray) -> dict[str, str]:
    return {"left": shape_in_words(left), "right": shape_in_words(right)}


_COMPARISONS: Mapping[str, Callable[..., Value]] = {
    **{"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne}
}
_OF_INTEGERS: Mapping[str, Callable[[int, int], int]] = {
    **{"+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv}
}
_ARITHMETIC: Mapping[str, np.ufunc] = {
    **{"+": np.add, "-": np.subtract, "*": np.multiply},
    **{"/": np.divide, "//": np.floor_divide, "**": np.power},
}
METHODS: Mapping[str, Callable[..., Value]] = {  # of an array; each is a function, too
    **{"matmul": matmul, "transpose": transpose, "swapaxes": swapaxes, "permute": permute},
    **{"reshape": reshape, "view": reshape, "flatten": flatten, "unsqueeze": unsqueeze},
    **{"sum": total, "mean": mean, "max": largest, "amax": largest, "softmax": softmax},
    **{"exp": exp, "sqrt": sqrt, "masked_fill": masked_fill, "size": size, "unbind": listed},
}
FUNCTIONS: Mapping[str, Callable[..., Value]] = {
    **METHODS,
    **{"where": where, "einsum": einsum, "concat": concat, "concatenate": concat, "cat": concat},
    **{"float": number, "list": listed, "tuple": listed},
}
CONSTANTS: Mapping[str, float] = {"inf": float("inf")}
