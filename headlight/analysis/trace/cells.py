"""Single cells of a pattern."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from headlight.analysis.flow.divergence import has_choice


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One query, one key, and the weight between them."""

    query: int
    key: int
    value: float


def strongest_cell(
    pattern: Float[np.ndarray, "query key"],
    mask: Bool[np.ndarray, "query key"],
    *,
    within: int | None = None,
    among: Bool[np.ndarray, "query key"] | None = None,
) -> Cell:
    """Return the largest weight among the queries that had a choice: those with at least two keys allowed.

    Where a weight is NaN, so is the largest.

    Args:
        pattern: attention weights.
        mask: True = may attend.
        within: only keys that are at most this many places from their query; None: all.
        among: the cells to choose from, where the mask allows any of them; None: all.

    Returns:
        The cell; of the whole pattern where no query had a choice. The first in reading order where several are equal.
    """
    values = _of_choices(pattern, mask)
    if within is not None:
        queries, keys = np.indices(pattern.shape)
        values = np.where(np.abs(queries - keys) <= within, values, -1.0)
    if among is not None and (mask & among & (values >= 0)).any():
        values = np.where(mask & among, values, -1.0)
    query, key = np.unravel_index(int(values.argmax()), pattern.shape)
    return Cell(query=int(query), key=int(key), value=float(pattern[query, key]))


def strongest_cells(
    patterns: Float[np.ndarray, "*heads query key"], mask: Bool[np.ndarray, "*#heads query key"]
) -> tuple[Int[np.ndarray, "*heads"], Int[np.ndarray, "*heads"], Float[np.ndarray, "*heads"]]:
    """Return query, key and weight of the strongest cell of many patterns, each as `strongest_cell` does for one.

    Args:
        patterns: attention weights.
        mask: True = may attend; one for all patterns, or with leading axes that broadcast to theirs.
    """
    flat = _of_choices(patterns, mask).reshape(*patterns.shape[:-2], -1)
    places = flat.argmax(axis=-1)
    queries, keys = np.divmod(places, patterns.shape[-1])
    weights = np.take_along_axis(flat, places[..., None], axis=-1)[..., 0]
    return queries, keys, weights


def _of_choices(patterns: np.ndarray, mask: np.ndarray) -> Float[np.ndarray, "*heads query key"]:
    """Return the weights, -1 at queries without a choice; all weights where no query of the pattern has one."""
    chosen = has_choice(mask)[..., None]
    return np.where(chosen | ~chosen.any(axis=-2, keepdims=True), patterns, -1.0)
