"""Matrix products, and sums of products by their subscripts."""

import re
from math import prod

import numpy as np

from pages.learn.build.engine.values import UNFIT, Budget, LineError, Value, array, floats, plain, sides

MOST_OPERANDS = 3  # of einsum
SLOWER = 4  # times that einsum takes for a product, compared with matmul


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
            **sides(a, b),
            n=n,
            n_rows=n_rows,
        )
    try:
        before = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise LineError(UNFIT, **sides(a, b), sign="@") from None
    shape = (*before, *a.shape[-2:-1], *(b.shape[-1:] if b.ndim > 1 else ()))
    budget.take(shape, n_products=prod(shape) * n)
    return plain(np.asarray(floats(a) @ floats(b)))


def product(budget: Budget, input: Value, other: Value) -> Value:
    """Return the product of two matrices or vectors: torch's mm, and NumPy's dot.

    Raises:
        LineError: one has more dimensions, the shapes do not fit, or it is too large.
    """
    a, b = array(input), array(other)
    if max(a.ndim, b.ndim) > 2:
        raise LineError("{left} and {right}: mm and dot multiply matrices; use @", **sides(a, b))
    return matmul(budget, a, b)


def einsum(budget: Budget, subscripts: Value, *operands: Value) -> Value:
    """Return the sum that the subscripts describe, such as "qd,kd->qk".

    Raises:
        LineError: they do not fit the arrays, or it is too large.
    """
    text = subscripts.replace(" ", "") if isinstance(subscripts, str) else ""
    found = re.fullmatch(r"([a-zA-Z]*(?:,[a-zA-Z]*)*)->([a-zA-Z]*)", text)
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
    return plain(np.asarray(np.einsum(f"{','.join(names)}->{kept}", *map(floats, arrays))))
