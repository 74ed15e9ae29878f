"""The shift property: the encoding of a later position is that of an earlier one, turned by a fixed matrix."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from headlight.analysis.positions.tables import PositionTable
from transformer_core.errors import ConfigError


@dataclass(frozen=True, kw_only=True, eq=False)
class Shift:
    """What takes every position k places on, and how well it does."""

    k: int
    matrix: Float[np.ndarray, "width width"]  # R_k, orthogonal: a turn of each pair of sine and cosine
    turned: Float[np.ndarray, " pos"]  # the largest difference |PE(pos + k) - R_k PE(pos)| of any number
    unturned: Float[np.ndarray, " pos"]  # |PE(pos + k) - PE(pos)|, to compare with


def shift(table: PositionTable, k: int) -> Shift:
    """Return R_k, which is made of row k of the table alone, and what it leaves.

    sin((pos + k) w) = cos(k w) sin(pos w) + sin(k w) cos(pos w) and
    cos((pos + k) w) = cos(k w) cos(pos w) - sin(k w) sin(pos w), for each frequency w.

    Args:
        table: of sines and cosines.
        k: by how many positions; less than the table has.

    Returns:
        the matrix and, for each position that has one k places on, both differences; those of `turned` are the rounding
        of the table, about 1e-7.

    Raises:
        ConfigError: a table without sines and cosines, or too few rows.

    Source: Vaswani et al. 2017, sec. 3.5: "for any fixed offset k, PE(pos + k) can be represented as a linear function
    of PE(pos)".
    """
    values = table.values.astype(np.float64)
    if not table.columns:
        raise ConfigError(
            "learned positions are not sines and cosines, so a shift is not a rotation; choose another encoding"
        )
    if not 0 <= k < len(values):
        raise ConfigError(
            "the table has {n} positions, so it can be shifted by 0 to {last}", n=len(values), last=len(values) - 1
        )
    matrix = np.zeros((values.shape[1], values.shape[1]))
    places = {(column.function, column.pair): place for place, column in enumerate(table.columns)}
    for pair in range(len(table.columns) // 2):
        sine, cosine = places["sin", pair], places["cos", pair]
        sin, cos = values[k, sine], values[k, cosine]
        matrix[sine, sine], matrix[sine, cosine] = cos, sin
        matrix[cosine, sine], matrix[cosine, cosine] = -sin, cos
    earlier, later = values[: len(values) - k], values[k:]
    return Shift(
        k=k,
        matrix=matrix,
        turned=np.abs(later - earlier @ matrix.T).max(axis=1),
        unturned=np.abs(later - earlier).max(axis=1),
    )
