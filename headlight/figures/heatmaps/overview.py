"""Patterns for a browser: as small pictures, one byte a cell, or with fine weights, two bytes a cell."""

import math

import numpy as np
from jaxtyping import Bool, Float, UInt8, UInt16

FORBIDDEN = 255  # the level of a cell that the mask does not allow
NOT_FINITE = 254  # that of a weight that is NaN
TOP = 253  # the level of weight 1

FINE_FORBIDDEN = 65_535
FINE_TOP = 65_534

MOST_BYTES = 1_400_000  # of all pictures; a browser has them within half a second
_LARGEST = 192  # rows and columns: no picture of an overview is larger on a screen


def levels(
    patterns: Float[np.ndarray, "*heads query key"], mask: Bool[np.ndarray, "*#heads query key"]
) -> UInt8[np.ndarray, "*heads query key"]:
    """Return each weight as a whole number from 0 to 253; 254 where it is NaN, 255 where the mask forbids the cell.

    Args:
        patterns: attention weights in [0, 1]; of a long text, pooled to rows and columns.
        mask: True = may attend; pooled alike. One for all patterns, or with leading axes that broadcast to theirs.
    """
    numbers = np.where(np.isfinite(patterns), np.rint(patterns.clip(0, 1) * TOP), NOT_FINITE)
    return np.where(mask, numbers, FORBIDDEN).astype(np.uint8)


def fine_levels(
    patterns: Float[np.ndarray, "*heads query key"], mask: Bool[np.ndarray, "query key"]
) -> UInt16[np.ndarray, "*heads query key"]:
    """Return each weight as a whole number from 0 to 65,534, and 65,535 where the mask does not allow the cell.

    Args:
        patterns: attention weights in [0, 1].
        mask: True = may attend.
    """
    return np.where(mask, np.rint(patterns.clip(0, 1).astype(np.float64) * FINE_TOP), FINE_FORBIDDEN).astype(np.uint16)


def thumbnail_side(n_heads: int, n_tokens: int, *, most_bytes: int = MOST_BYTES) -> int:
    """Return how many rows and columns the picture of a head may have, one byte a cell.

    Args:
        n_heads: pictures, of all attentions and layers together.
        n_tokens: of the longest side of a pattern.
        most_bytes: of all pictures.

    Returns:
        All tokens where there is room, never above 192, and never below 1.

    Raises:
        ValueError: there is nothing to draw.
    """
    if n_heads < 1 or n_tokens < 1:
        raise ValueError(f"There are {n_heads} heads and {n_tokens} tokens; an overview needs one of each at least.")
    return max(1, min(n_tokens, _LARGEST, math.isqrt(most_bytes // n_heads)))
