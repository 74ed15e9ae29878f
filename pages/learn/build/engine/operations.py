"""The functions, the methods of arrays and the constants that a learner's line may name: nothing else is there.

Each operation knows the shape of its result before it computes it, and asks the budget.
"""

from collections.abc import Callable, Mapping

from pages.learn.build.engine.arithmetic import exp, inverted, masked_fill, number, sqrt, where
from pages.learn.build.engine.products import einsum, matmul, product
from pages.learn.build.engine.reducing import largest, mean, softmax, total
from pages.learn.build.engine.shaping import (
    concat,
    flatten,
    listed,
    matrix_t,
    permute,
    reshape,
    size,
    swapaxes,
    transpose,
    unsqueeze,
)
from pages.learn.build.engine.values import Value

METHODS: Mapping[str, Callable[..., Value]] = {  # of an array; each is a function, too
    **{"matmul": matmul, "mm": product, "dot": product, "t": matrix_t},
    **{"transpose": transpose, "swapaxes": swapaxes, "permute": permute},
    **{"reshape": reshape, "view": reshape, "flatten": flatten, "unsqueeze": unsqueeze},
    **{"sum": total, "mean": mean, "max": largest, "amax": largest, "softmax": softmax},
    **{"exp": exp, "sqrt": sqrt, "masked_fill": masked_fill, "logical_not": inverted, "size": size, "unbind": listed},
}
FUNCTIONS: Mapping[str, Callable[..., Value]] = {
    **METHODS,
    **{"where": where, "einsum": einsum, "concat": concat, "concatenate": concat, "cat": concat},
    **{"float": number, "list": listed, "tuple": listed},
}
CONSTANTS: Mapping[str, float] = {"inf": float("inf")}
