"""The picture of a captured activation: its cells, the lengths of its vectors, and a histogram of its numbers."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from transformer_core.errors import SiteError

MOST_ROWS, MOST_COLUMNS = 128, 192  # cells of a picture; of larger activations, each cell pools several numbers
N_BINS = 41  # odd, so that one bin is centred on 0


@dataclass(frozen=True, kw_only=True, eq=False)
class ActivationPicture:
    """An activation, or one head of it, as it is drawn."""

    cells: Float[np.ndarray, "row column"]  # NaN where no number is finite, or the mask forbids it
    rows: Int[np.ndarray, " row"]  # the first position that each row covers
    columns: Int[np.ndarray, " column"]
    n_rows: int  # number of positions
    n_columns: int
    lengths: Float[np.ndarray, " pos"] | None  # L2 norm at each position; None where rows are not vectors
    counts: Int[np.ndarray, " bin"]  # numbers in each bin
    edges: Float[np.ndarray, " edge"]
    mean: float
    deviation: float
    n_finite: int
    share_of_zeros: float  # share of exact zeros among finite numbers

    @property
    def is_pooled(self) -> bool:
        """Whether a cell pools several numbers and shows the one of largest magnitude."""
        return self.cells.shape != (self.n_rows, self.n_columns)


def picture_of(
    values: np.ndarray,
    *,
    head: int = 0,
    are_vectors: bool = True,
    allowed: Bool[np.ndarray, "1 query key"] | None = None,
) -> ActivationPicture:
    """Return the picture of an activation.

    Args:
        values: [pos, width], or [head, pos, width] of which one head is selected; booleans count as 0 and 1.
        head: index of the head; clipped to the last one.
        are_vectors: whether the rows are vectors whose lengths are meaningful.
        allowed: False = hidden, as the mask forbids it.

    Raises:
        SiteError: it has other axes.
    """
    if values.ndim not in (2, 3):
        raise SiteError("an activation must have two or three axes to be drawn, got {n}", n=values.ndim)
    seen = values if values.ndim == 2 else values[min(head, len(values) - 1)]
    seen = seen.astype(np.float32)
    if allowed is not None:
        seen = np.where(allowed[0], seen, np.nan)
    finite = seen[np.isfinite(seen)]
    counts, edges = _spread(finite)
    rows, columns = (_starts(n, most) for n, most in zip(seen.shape, (MOST_ROWS, MOST_COLUMNS), strict=True))
    return ActivationPicture(
        cells=_pooled(np.where(np.isfinite(seen), seen, np.nan), rows, columns),
        rows=rows,
        columns=columns,
        n_rows=seen.shape[0],
        n_columns=seen.shape[1],
        lengths=np.linalg.norm(seen, axis=1) if are_vectors else None,
        counts=counts,
        edges=edges,
        mean=float(finite.mean(dtype=np.float64)) if finite.size else 0.0,
        deviation=float(finite.std(dtype=np.float64)) if finite.size else 0.0,
        n_finite=int(finite.size),
        share_of_zeros=float((finite == 0).mean()) if finite.size else 0.0,
    )


def most_probable(
    values: Float[np.ndarray, "pos vocab"], n: int
) -> tuple[Float[np.ndarray, "pos token"], Int[np.ndarray, " token"]]:
    """Return the columns of the `n` tokens with the highest values, ordered by their peak positions, and the tokens."""
    best = values.max(axis=0)
    highest = np.argsort(-best, kind="stable")[:n]
    chosen = highest[np.argsort(values[:, highest].argmax(axis=0), kind="stable")]
    return values[:, chosen], chosen


def _spread(finite: Float[np.ndarray, " number"]) -> tuple[Int[np.ndarray, " bin"], Float[np.ndarray, " edge"]]:
    """Return the counts and edges of a histogram: symmetric around 0 if there are negative numbers, else from 0."""
    size = float(np.abs(finite).max(initial=0.0)) or 1.0
    low = -size if finite.size and finite.min() < 0 else 0.0
    counts, edges = np.histogram(finite, bins=N_BINS, range=(low, size))
    return counts.astype(np.int64), edges.astype(np.float64)


def _starts(n: int, most: int) -> Int[np.ndarray, " cell"]:
    """Return the start of each of at most `most` cells: cell i of m starts at i * n // m."""
    m = min(n, most)
    return np.array([cell * n // m for cell in range(m)], dtype=np.int64)


def _pooled(
    values: Float[np.ndarray, "pos width"], rows: Int[np.ndarray, " row"], columns: Int[np.ndarray, " column"]
) -> Float[np.ndarray, "row column"]:
    """Return the number of largest magnitude in each block, with its sign; NaN where there is none."""
    if (len(rows), len(columns)) == values.shape:
        return values
    high = np.fmax.reduceat(np.fmax.reduceat(values, rows, axis=0), columns, axis=1)
    low = np.fmin.reduceat(np.fmin.reduceat(values, rows, axis=0), columns, axis=1)
    return np.where(np.abs(low) > np.abs(high), low, high).astype(np.float32)
