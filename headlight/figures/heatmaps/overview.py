"""Patterns for a browser as small pictures of one or two bytes per cell: an overview, and the frames of a film."""

import math
from collections.abc import Mapping

import numpy as np
from jaxtyping import Bool, Float, UInt8, UInt16

FORBIDDEN = 255  # level of a masked cell
NOT_FINITE = 254  # level of NaN
TOP = 253  # level of weight 1

FINE_FORBIDDEN = 65_535
FINE_TOP = 65_534

MOST_BYTES = 1_400_000  # all pictures of an overview together: a browser draws them within half a second
_LARGEST = 192  # rows and columns of a picture of an overview
MOST_FILM_BYTES = 8_000_000  # of all frames of a film, one byte per cell
_SIDES = (64, 48, 32, 24, 16)  # rows and columns of a frame; the first matches the resolution of a screen


def levels(
    patterns: Float[np.ndarray, "*heads query key"], mask: Bool[np.ndarray, "*#heads query key"]
) -> UInt8[np.ndarray, "*heads query key"]:
    """Return each weight as an integer from 0 to 253; 254 where it is NaN, 255 where the cell is masked.

    Args:
        patterns: attention weights in [0, 1], pooled for a long text.
        mask: True = may attend, pooled likewise; one for all patterns, or with leading axes that broadcast to theirs.
    """
    numbers = np.where(np.isfinite(patterns), np.rint(patterns.clip(0, 1) * TOP), NOT_FINITE)
    return np.where(mask, numbers, FORBIDDEN).astype(np.uint8)


def fine_levels(
    patterns: Float[np.ndarray, "*heads query key"], mask: Bool[np.ndarray, "query key"]
) -> UInt16[np.ndarray, "*heads query key"]:
    """Return each weight in [0, 1] as an integer from 0 to 65,534; 65,535 where the cell is masked."""
    return np.where(mask, np.rint(patterns.clip(0, 1).astype(np.float64) * FINE_TOP), FINE_FORBIDDEN).astype(np.uint16)


def thumbnail_side(n_heads: int, n_tokens: int, *, most_bytes: int = MOST_BYTES) -> int:
    """Return how many rows and columns, from 1 to 192, the picture of a head may have.

    Args:
        n_heads: of all attentions and layers together.
        n_tokens: of the longest side of a pattern.
        most_bytes: maximum size of all pictures together, one byte per cell.

    Raises:
        ValueError: there is nothing to draw.
    """
    if n_heads < 1 or n_tokens < 1:
        raise ValueError(f"There are {n_heads} heads and {n_tokens} tokens; an overview needs one of each at least.")
    return max(1, min(n_tokens, _LARGEST, math.isqrt(most_bytes // n_heads)))


def fit_frames(shapes: Mapping[str, tuple[int, int, int, int]], n_snapshots: int) -> tuple[int, int]:
    """Return how many rows and columns the frames of a film may have, and how many frames fit at the smallest size.

    Args:
        shapes: layers, heads, queries and keys of the patterns, by name of attention.
        n_snapshots: of the film.
    """
    for side in _SIDES:
        of_a_frame = sum(
            n_layers * n_heads * min(n_queries, side) * min(n_keys, side)
            for n_layers, n_heads, n_queries, n_keys in shapes.values()
        )
        if of_a_frame * n_snapshots <= MOST_FILM_BYTES:
            return side, n_snapshots
    return side, max(2, MOST_FILM_BYTES // of_a_frame)


def pooled_levels(
    patterns: Float[np.ndarray, "*heads query key"], mask: Bool[np.ndarray, "*#heads query key"], *, side: int
) -> UInt8[np.ndarray, "*heads row column"]:
    """Return `levels` max-pooled to at most `side` rows and columns; a block without an allowed cell is masked."""
    n_blocks = [math.ceil(size / math.ceil(size / side)) for size in mask.shape[-2:]]
    rows, columns = ([i * size // n for i in range(n)] for size, n in zip(mask.shape[-2:], n_blocks, strict=True))
    if (len(rows), len(columns)) == mask.shape[-2:]:
        return levels(patterns, mask)
    allowed_levels = np.where(mask, levels(patterns, np.ones_like(mask)), 0)
    pooled = _largest(allowed_levels, rows, columns)
    is_allowed = _largest(mask, rows, columns)
    return np.where(is_allowed, pooled, FORBIDDEN).astype(np.uint8)


def thinned_places(n_snapshots: int, n_frames: int) -> list[int]:
    """Return the snapshots to keep: the first, the last, and evenly spaced ones between them."""
    n_frames = min(n_frames, n_snapshots)
    return [round(i * (n_snapshots - 1) / max(n_frames - 1, 1)) for i in range(n_frames)]


def _largest(values: np.ndarray, rows: list[int], columns: list[int]) -> np.ndarray:
    return np.maximum.reduceat(np.maximum.reduceat(values, rows, axis=-2), columns, axis=-1)
