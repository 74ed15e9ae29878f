"""The proof of a walk: how far its numbers are from two other computations, and whether that is near enough."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from headlight.analysis.walkthrough.records import PAIRS, Proof, pair_factors

if TYPE_CHECKING:
    from headlight.analysis.walkthrough.against_torch import TorchNumbers

Matrices = Mapping[str, Float[np.ndarray, "_ _"]]

# How far numbers of size 1 may lie from float64, by the precision that the model computes in: some hundred times its
# rounding, as an error passes through sums of thousands of numbers and through normalizations.
TOLERANCES: Mapping[str, float] = {"float64": 2e-5, "float32": 2e-5, "float16": 2e-2, "bfloat16": 1.6e-1}


def prove(values: Matrices, recomputed: Matrices, torch: "TorchNumbers", *, dtype: str, device: str) -> Proof:
    """Return how far each of the model's numbers is from the recomputed one, and from torch's.

    Args:
        values: the model's, by quantity.
        recomputed: in float64, of the same quantities.
        torch: of some of them.
        dtype: that the model computes in.
        device: where it did.
    """
    tolerance = TOLERANCES[dtype]
    errors = {name: largest_error(mine, recomputed[name]) for name, mine in values.items()}
    n_numbers = sum(mine.size for mine in values.values()) + len(PAIRS) * values["pattern"].size * values["v"].shape[1]
    for name in PAIRS:  # a query at a time: all of them take much memory
        rows = (
            [np.multiply(*pair_factors(of, name, query)) for of in (values, recomputed)]
            for query in range(len(values["q"]))
        )
        errors[name] = max(largest_error(mine, exact) for mine, exact in rows)
    torch_errors = {
        name: largest_error(values[name], np.where(np.isnan(other), values[name], other).astype(np.float64))
        for name, other in torch.values.items()
    }
    sizes = {name: 1 + _size(mine) for name, mine in recomputed.items()}
    sizes |= {
        "elementwise": 1 + _size(recomputed["q"]) * _size(recomputed["k"]),
        "weighted": 1 + _size(recomputed["v"]),
    }
    shares = {name: error / (tolerance * sizes[name]) for name, error in errors.items()}
    worst = max(shares, key=shares.__getitem__)
    torch_shares = {name: error / (tolerance * sizes[name]) for name, error in torch_errors.items()}
    torch_worst = max(torch_shares, key=torch_shares.__getitem__, default="")
    return Proof(
        n_numbers=n_numbers,
        errors=errors,
        largest=max(errors.values()),
        worst=worst,
        share_of_tolerance=shares[worst],
        tolerance=tolerance,
        torch_function=torch.function,
        torch_errors=torch_errors,
        torch_reason=torch.reason,
        torch_worst=torch_worst,
        torch_share_of_tolerance=torch_shares.get(torch_worst, 0.0),
        dtype=dtype,
        device=device,
    )


def largest_error(mine: Float[np.ndarray, "*axes"], other: Float[np.ndarray, "*axes"]) -> float:
    """Return the largest distance between two arrays.

    Returns:
        0 where both have the same infinity; infinity where one has an infinity, or no number, and the other has not.
    """
    same = mine == other
    with np.errstate(invalid="ignore"):
        distance = np.abs(mine.astype(np.float64) - other)
    distance = np.where(same, 0.0, np.where(np.isnan(distance), np.inf, distance))
    return float(distance.max(initial=0.0))


def _size(values: Float[np.ndarray, "_ _"]) -> float:
    """Return the largest finite number."""
    finite = values[np.isfinite(values)]
    return float(np.abs(finite).max(initial=0.0))
