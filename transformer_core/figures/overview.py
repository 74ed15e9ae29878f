"""Patterns as small pictures: one byte a cell, for a canvas that draws hundreds of heads at once."""

import numpy as np
from jaxtyping import Bool, Float, UInt8

FORBIDDEN = 255  # the level of a cell that the mask does not allow
TOP = 254  # the level of weight 1


def levels(
    patterns: Float[np.ndarray, "*heads query key"], mask: Bool[np.ndarray, "query key"]
) -> UInt8[np.ndarray, "*heads query key"]:
    """Return each weight as a whole number from 0 to 254, and 255 where the mask does not allow the cell.

    Args:
        patterns: attention weights in [0, 1].
        mask: True = may attend.
    """
    return np.where(mask, np.rint(patterns.clip(0, 1) * TOP), FORBIDDEN).astype(np.uint8)
