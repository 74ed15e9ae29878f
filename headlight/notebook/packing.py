"""Patterns as compressed whole numbers, as decode.js reads them.

A weight is rounded to a multiple of 1 / top. The low bytes of all numbers come first, then the high ones: sorted like
this, they compress best.
"""

import zlib
from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, UInt16

from transformer_core.errors import ArgumentError

FORBIDDEN = 65_535  # a cell that the mask does not allow
NOT_FINITE = 65_534
EXACT = 50_000  # steps from 0 to 1: weights are exact to 1e-5
STEPS = (50_000, 20_000, 10_000, 5_000, 2_500, 1_000, 500, 250)  # the finest that fits is used
USUAL_BYTES = 980_000  # compressed; with everything else, a file of 1.5 MB
MOST_CELLS = 24_000_000  # of all heads: more make browsers slow
_SAMPLE = 400_000  # cells from which the size is estimated


def pack(
    patterns: Sequence[Float[np.ndarray, "layer head query key"]],
    masks: Sequence[Bool[np.ndarray, "layer query key"]],
    *,
    exact: bool = False,
) -> tuple[bytes, int]:
    """Return the compressed patterns of all attentions, and the number of steps from 0 to 1, `top`.

    The rounding error is at most 0.5 / top.

    Args:
        patterns: of each attention.
        masks: of each attention, True = may attend.
        exact: round to 1e-5, whatever the size; otherwise more coarsely, so that the result has about 1 MB.

    Raises:
        ArgumentError: there are more than `MOST_CELLS` cells.
    """
    check_size(sum(values.size for values in patterns))
    if exact:
        return _compressed(patterns, masks, EXACT), EXACT
    candidates = [top for top in STEPS if _estimate(patterns, masks, top) <= USUAL_BYTES] or [STEPS[-1]]
    for top in candidates[:3]:
        packed = _compressed(patterns, masks, top)
        if len(packed) <= USUAL_BYTES:
            break
    return packed, top


def check_size(n_cells: int) -> None:
    """Check that a view can show this number of cells.

    Raises:
        ArgumentError: there are more than `MOST_CELLS`.
    """
    if n_cells > MOST_CELLS:
        raise ArgumentError(
            "these patterns have {n:,} cells (heads x queries x keys), but a view shows at most {most:,}; use fewer "
            "tokens, or choose layers and heads with include_layers and include_heads",
            n=n_cells,
            most=MOST_CELLS,
        )


def levels(
    patterns: Float[np.ndarray, "layer head query key"], mask: Bool[np.ndarray, "layer query key"], top: int
) -> UInt16[np.ndarray, "layer head query key"]:
    """Return each weight in [0, 1] as a whole number from 0 to top; `NOT_FINITE` for NaN, `FORBIDDEN` where masked."""
    numbers = patterns * np.float32(top)
    np.rint(numbers, out=numbers)
    np.clip(numbers, 0, top, out=numbers)
    if not np.isfinite(numbers).all():
        numbers[~np.isfinite(numbers)] = NOT_FINITE
    return np.where(mask[:, None], numbers, FORBIDDEN).astype(np.uint16)


def _compressed(patterns: Sequence[np.ndarray], masks: Sequence[np.ndarray], top: int) -> bytes:
    numbers = np.concatenate([levels(*of, top).ravel() for of in zip(patterns, masks, strict=True)])
    return zlib.compress((numbers & 255).astype(np.uint8).tobytes() + (numbers >> 8).astype(np.uint8).tobytes())


def _estimate(patterns: Sequence[np.ndarray], masks: Sequence[np.ndarray], top: int) -> float:
    """Return about how many bytes the patterns take, from the entropy of the bytes of some allowed cells."""
    total = 0.0
    for values, mask in zip(patterns, masks, strict=True):
        step = max(1, values.size // _SAMPLE)
        cells = values[:, :: max(1, min(step, values.shape[1]))][
            np.broadcast_to(mask[:, None], values.shape)[:, :: max(1, min(step, values.shape[1]))]
        ]
        numbers = np.nan_to_num(np.rint(cells * top)).clip(0, top).astype(np.uint16)
        n_allowed = int(mask.sum()) * values.shape[1]
        total += n_allowed / 8 * sum(_entropy(plane) for plane in (numbers & 255, numbers >> 8))
    return total


def _entropy(values: np.ndarray) -> float:
    """Return the entropy of whole numbers from 0 to 255, in bits."""
    counts = np.bincount(values, minlength=256)
    shares = counts[counts > 0] / max(len(values), 1)
    return float(-(shares * np.log2(shares)).sum())
