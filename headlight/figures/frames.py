"""The frames of a film: the patterns of many snapshots as small pictures, in a size that a browser takes at once."""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, UInt8

from headlight.figures.heatmaps.overview import FORBIDDEN, levels

MOST_BYTES = 8_000_000  # of all frames, one byte a cell
_SIDES = (64, 48, 32, 24, 16)  # rows and columns of a picture at most; the first are as sharp as a screen shows them


class Fit(NamedTuple):
    """How the frames of a film are made to fit."""

    side: int  # rows and columns of a picture at most
    n_frames: int


def fit_frames(shapes: Mapping[str, tuple[int, int, int, int]], n_snapshots: int, *, n_bytes: int = MOST_BYTES) -> Fit:
    """Return how large the pictures may be, and how many snapshots there is room for where even the smallest are many.

    Args:
        shapes: of the patterns by name of attention: layers, heads, queries, keys.
        n_snapshots: of the film.
        n_bytes: at most.
    """
    for side in _SIDES:
        of_a_frame = sum(
            n_layers * n_heads * min(n_queries, side) * min(n_keys, side)
            for n_layers, n_heads, n_queries, n_keys in shapes.values()
        )
        if of_a_frame * n_snapshots <= n_bytes:
            return Fit(side, n_snapshots)
    return Fit(_SIDES[-1], max(2, n_bytes // of_a_frame))


def pooled_levels(
    patterns: Float[np.ndarray, "*heads query key"], mask: Bool[np.ndarray, "*#heads query key"], *, side: int
) -> UInt8[np.ndarray, "*heads row column"]:
    """Return `levels` of at most `side` rows and columns: of each block of cells the largest weight.

    A block is forbidden where the mask allows none of its cells.

    Args:
        patterns: attention weights in [0, 1].
        mask: True = may attend; one for all patterns, or with leading axes that broadcast to theirs.
        side: rows and columns at most; a smaller pattern stays as it is.
    """
    rows, columns = (_starts(size, side) for size in mask.shape[-2:])
    if (len(rows), len(columns)) == mask.shape[-2:]:
        return levels(patterns, mask)
    allowed_levels = np.where(mask, levels(patterns, np.ones_like(mask)), 0)
    pooled = _largest(allowed_levels, rows, columns)
    is_allowed = _largest(mask, rows, columns)
    return np.where(is_allowed, pooled, FORBIDDEN).astype(np.uint8)


def thinned_places(n_snapshots: int, n_frames: int) -> list[int]:
    """Return which of some snapshots to keep: the first, the last, and evenly many between them."""
    n_frames = min(n_frames, n_snapshots)
    return [round(i * (n_snapshots - 1) / max(n_frames - 1, 1)) for i in range(n_frames)]


def _starts(size: int, n_most: int) -> list[int]:
    """Return where equal blocks begin."""
    n_blocks = math.ceil(size / math.ceil(size / n_most))
    return [i * size // n_blocks for i in range(n_blocks)]


def _largest(values: np.ndarray, rows: list[int], columns: list[int]) -> np.ndarray:
    return np.maximum.reduceat(np.maximum.reduceat(values, rows, axis=-2), columns, axis=-1)
