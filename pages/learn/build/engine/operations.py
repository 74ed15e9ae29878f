"""The functions, the methods of arrays and the constants that a learner's line may name, as torch and NumPy spell them.

Each operation charges the budget for the shape of its result before it computes it, and never changes its input. It
raises LineError if shapes do not fit, an argument has the wrong type, or the result is too large.
"""

import operator
import re
from collections.abc import Callable, Mapping
from functools import partial
from math import prod

import numpy as np

from pages.learn.build.engine import values
from pages.learn.build.engine.values import Budget, LineError, Value, array, axis_of, floats, plain, spread, whole

MOST_EXPONENT = 64
MOST_OPERANDS = 3  # of einsum
SLOWER = 4  # the cost of a product in einsum relative to matmul
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


def elementwise(sign: str, budget: Budget, left: Value, right: Value) -> Value:
    """Return + - * / // ** or a comparison of numbers or arrays, elementwise."""
    if isinstance(left, values.PLAIN_NUMBERS) and isinstance(right, values.PLAIN_NUMBERS):
        return _of_numbers(sign, left, right)
    a, b = array(left), array(right)
    budget.take(values.broadcast(sign, a.shape, b.shape))
    if sign in _COMPARISONS:
        return _COMPARISONS[sign](a, b)
    if sign == "**":
        _check_exponent(float(np.abs(b).max(initial=0)))
    return _ARITHMETIC[sign](floats(a), floats(b))


def _of_numbers(sign: str, left: float, right: float) -> Value:
    """Apply an operation to two numbers; where Python raises, as for 1 / 0, return NumPy's result."""
    if sign in _COMPARISONS:
        return bool(_COMPARISONS[sign](left, right))
    if sign == "**":
        _check_exponent(abs(right))
    is_whole = right >= 0 if sign == "**" else right or sign != "//"
    if isinstance(left, int) and isinstance(right, int) and sign in _OF_INTEGERS and is_whole:
        return values.integer(_OF_INTEGERS[sign](left, right))
    return float(_ARITHMETIC[sign](np.float64(left), np.float64(right)))


def _check_exponent(size: float) -> None:
    if not size <= MOST_EXPONENT:
        raise LineError("an exponent may be at most {most}", most=MOST_EXPONENT)


def negative(budget: Budget, value: Value) -> Value:
    """Return the negative of a value."""
    if isinstance(value, values.PLAIN_NUMBERS):
        return -value
    budget.take(array(value).shape)
    return -floats(array(value))


def inverted(budget: Budget, value: Value) -> Value:
    """Return the logical negation of a mask."""
    if isinstance(value, np.ndarray) and value.dtype == bool:
        budget.take(value.shape)
        return ~value
    if isinstance(value, bool):
        return not value
    raise LineError("~ inverts a Boolean mask, but this array contains numbers")


def _of_each(function: Callable[[np.ndarray], np.ndarray], budget: Budget, input: Value) -> Value:
    x = array(input)
    budget.take(x.shape)
    return plain(np.asarray(function(floats(x))))


exp, sqrt = partial(_of_each, np.exp), partial(_of_each, np.sqrt)


def masked_fill(budget: Budget, input: Value, mask: Value, value: Value) -> Value:
    """Return the array with a value where the mask is True."""
    return where(budget, mask, value, input)


def where(budget: Budget, condition: Value, input: Value, other: Value) -> Value:
    """Return the first value where the mask is True, and the second where it is False."""
    mask, a, b = array(condition), array(input), array(other)
    if mask.dtype != bool:
        raise LineError("a Boolean mask is needed here; use mask or ~mask")
    budget.take(values.broadcast("→", mask.shape, a.shape, b.shape))
    return np.where(mask, floats(a), floats(b))


def number(budget: Budget, value: Value) -> Value:
    """Return `float` of a number, or of a string that means infinity."""
    if isinstance(value, str) and re.fullmatch(r"[+-]?inf(inity)?", value.strip().lower()):
        return float(value)
    if isinstance(value, values.PLAIN_NUMBERS):
        return float(value)
    raise LineError('float takes a number, or "-inf"')


def matmul(budget: Budget, input: Value, other: Value) -> Value:
    """Return the matrix product of the last two dimensions, for each index of those before."""
    a, b = array(input), array(other)
    if not a.ndim or not b.ndim:
        raise LineError("@ multiplies matrices, and one side is a number; use *")
    n, n_rows = a.shape[-1], b.shape[-2] if b.ndim > 1 else b.shape[0]
    if n != n_rows:
        raise LineError(
            "{left} @ {right}: the last dimension on the left ({n}) must equal the second-to-last on the right "
            "({n_rows}); transpose one of them, or use another",
            **values.sides(a, b),
            n=n,
            n_rows=n_rows,
        )
    before = values.broadcast("@", a.shape, b.shape, n_matrix_axes=2)
    shape = (*before, *a.shape[-2:-1], *(b.shape[-1:] if b.ndim > 1 else ()))
    budget.take(shape, n_products=prod(shape) * n)
    return plain(np.asarray(floats(a) @ floats(b)))


def product(budget: Budget, input: Value, other: Value) -> Value:
    """Return the product of two matrices or vectors: torch's mm, and NumPy's dot."""
    a, b = array(input), array(other)
    if max(a.ndim, b.ndim) > 2:
        raise LineError("{left} and {right}: mm and dot multiply matrices; use @", **values.sides(a, b))
    return matmul(budget, a, b)


def einsum(budget: Budget, subscripts: Value, *operands: Value) -> Value:
    """Return the sum that the subscripts describe, such as "qd,kd->qk"."""
    text = subscripts.replace(" ", "") if isinstance(subscripts, str) else ""
    match = re.fullmatch(r"([a-zA-Z]*(?:,[a-zA-Z]*)*)->([a-zA-Z]*)", text)
    arrays = [array(one) for one in operands]
    names, kept = (match[1].split(","), match[2]) if match else ([], "")
    fits = [*map(len, names)] == [one.ndim for one in arrays] and {*kept} <= {*"".join(names)}
    if not fits or not 0 < len(names) <= MOST_OPERANDS or len({*kept}) < len(kept):
        raise LineError('the subscripts must name each dimension of the arrays, as in "qd,kd->qk"')
    sizes: dict[str, int] = {}
    for letters, one in zip(names, arrays, strict=True):
        if any(sizes.setdefault(letter, n) != n for letter, n in zip(letters, one.shape, strict=True)):
            raise LineError("dimensions with the same letter must have the same size")
    n_products = SLOWER * len(arrays) * prod(sizes.values())
    budget.take([sizes[letter] for letter in kept], n_products=n_products)
    return plain(np.asarray(np.einsum(f"{','.join(names)}->{kept}", *map(floats, arrays))))


def _reduced(
    function: Callable[..., np.ndarray], budget: Budget, input: Value, dim: Value = None, keepdim: Value = False
) -> Value:
    """Reduce an array by a function, along some dimensions or all."""
    x = floats(array(input))
    axes = tuple({axis_of(one, x.ndim) for one in spread((dim,))}) if dim is not None else tuple(range(x.ndim))
    if not x.size:
        raise LineError("this array is empty")
    budget.take([n for axis, n in enumerate(x.shape) if axis not in axes])
    return plain(np.asarray(function(x, axis=axes, keepdims=bool(whole(keepdim)))))


total, mean, largest = (partial(_reduced, of) for of in (np.add.reduce, np.mean, np.maximum.reduce))


def softmax(budget: Budget, input: Value, dim: Value = None) -> Value:
    """Return the softmax along a dimension."""
    if dim is None:
        raise LineError("softmax needs a dimension: softmax(…, dim=…)")
    powers = exp(budget, elementwise("-", budget, input, largest(budget, input, dim, True)))
    return elementwise("/", budget, powers, total(budget, powers, dim, True))


METHODS: Mapping[str, Callable[..., Value]] = {  # of an array; each is also a function
    **{"matmul": matmul, "mm": product, "dot": product, "t": values.matrix_t},
    **{"transpose": values.transpose, "swapaxes": values.swapaxes, "permute": values.permute},
    **{"reshape": values.reshape, "view": values.reshape, "flatten": values.flatten, "unsqueeze": values.unsqueeze},
    **{"sum": total, "mean": mean, "max": largest, "amax": largest, "softmax": softmax},
    **{
        "exp": exp,
        "sqrt": sqrt,
        "masked_fill": masked_fill,
        "logical_not": inverted,
        "size": values.size,
        "unbind": values.listed,
    },
}
FUNCTIONS: Mapping[str, Callable[..., Value]] = {
    **METHODS,
    **{"where": where, "einsum": einsum, "concat": values.concat, "concatenate": values.concat, "cat": values.concat},
    **{"float": number, "list": values.listed, "tuple": values.listed},
}
CONSTANTS: Mapping[str, float] = {"inf": float("inf")}
