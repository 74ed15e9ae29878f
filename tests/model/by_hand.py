"""The paper's formulas in plain Python and float64: loops over positions and heads, no torch in the arithmetic.

The oracle of the model's tests. Slow, and so simple that it can be read against the paper.
"""

import math
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

Array = NDArray[np.float64]
Allowed = Callable[[int, int, int], bool]
"""(batch, query, key) -> may attend."""


def where(mask: Tensor) -> Allowed:
    """What a boolean mask [batch query key] allows."""
    return lambda b, query, key: bool(mask[b, query, key])


class Weights:
    """The parameters of a module by name, as float64; `inside` narrows to a part."""

    def __init__(self, values: Mapping[str, Array], prefix: str = "") -> None:
        self._values, self._prefix = values, prefix

    @classmethod
    def of(cls, module: nn.Module) -> "Weights":
        state = module.state_dict()
        return cls({name: value.double().numpy() for name, value in state.items()})

    def inside(self, part: str) -> "Weights":
        return Weights(self._values, f"{self._prefix}{part}.")

    def __getitem__(self, name: str) -> Array:
        return self._values[self._prefix + name]

    def linear(self, part: str, x: Array) -> Array:
        """x W^T + b, with the weight as torch keeps it: [out, in]."""
        bias = self._values.get(f"{self._prefix}{part}.bias")
        product = x @ self[f"{part}.weight"].T
        return product if bias is None else product + bias


def attention(q: Array, k: Array, v: Array, allowed: Allowed) -> tuple[Array, Array]:
    """Eq. (1) for one head, cell by cell: (pattern [batch query key], z [batch query d_head])."""
    n_batch, n_queries, d_head = q.shape
    n_keys = k.shape[1]
    pattern, z = np.zeros((n_batch, n_queries, n_keys)), np.zeros((n_batch, n_queries, v.shape[-1]))
    for b in range(n_batch):
        for i in range(n_queries):
            scores = {
                j: sum(q[b, i, c] * k[b, j, c] for c in range(d_head)) / math.sqrt(d_head)
                for j in range(n_keys)
                if allowed(b, i, j)
            }
            highest = max(scores.values(), default=0.0)
            total = sum(math.exp(score - highest) for score in scores.values())
            for j, score in scores.items():
                pattern[b, i, j] = math.exp(score - highest) / total
                z[b, i] += pattern[b, i, j] * v[b, j]
    return pattern, z


def layer_norm(weights: Weights, x: Array, eps: float) -> Array:
    """Ba et al. 2016, with the biased variance, and eps inside the root."""
    mean = x.sum(axis=-1, keepdims=True) / x.shape[-1]
    variance = ((x - mean) ** 2).sum(axis=-1, keepdims=True) / x.shape[-1]
    return (x - mean) / np.sqrt(variance + eps) * weights["weight"] + weights["bias"]


def sinusoid(pos: int, column: int, d_model: int, base: float = 10000.0) -> float:
    """Sec. 3.5: PE(pos, 2i) is the sine, PE(pos, 2i + 1) the cosine, of pos / base^(2i / d_model)."""
    pair = column // 2
    angle = pos / base ** (2 * pair / d_model)
    return math.sin(angle) if column % 2 == 0 else math.cos(angle)
