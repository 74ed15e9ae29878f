"""Products of positional encodings by distance, and the rotation that shifts all positions."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float

from headlight.analysis.positions.tables import PositionTable
from transformer_core.config import ModelConfig
from transformer_core.errors import ConfigError
from transformer_core.model.rotary import RotaryPositions


@dataclass(frozen=True, kw_only=True, eq=False)
class ByDistance:
    """Products of all pairs of positions that lie equally far apart."""

    mean: Float[np.ndarray, " distance"]  # from distance 0 on
    least: Float[np.ndarray, " distance"]
    most: Float[np.ndarray, " distance"]

    @property
    def spread(self) -> float:
        """Return the largest difference within a distance: about 0 where the product depends on the distance alone."""
        return float((self.most - self.least).max(initial=0.0))


def table_products(table: Float[np.ndarray, "pos width"]) -> Float[np.ndarray, "pos pos"]:
    """Return the dot products of all pairs of rows, computed in float64."""
    rows = table.astype(np.float64)
    return rows @ rows.T


def turned_products(config: ModelConfig, n_positions: int) -> Float[np.ndarray, "pos pos"]:
    """Return the dot products of one vector with itself, turned to the position of the query and to that of the key.

    The vector has length 1 and the same length in each pair, so the product is the mean over the pairs of the cosine of
    the angle between both.

    Args:
        config: with rotary positions.
        n_positions: of queries and of keys.

    Source: Su et al. 2021, sec. 3.4.3, for how it falls with the distance.
    """
    rotation = RotaryPositions(config)(0, n_positions, torch.device("cpu"))
    n_rotated = 2 * rotation.cos.shape[1]
    vector = torch.zeros(1, 1, n_positions, config.d_head)
    vector[..., :n_rotated] = n_rotated**-0.5
    turned = rotation.rotate(vector)[0, 0].double()
    return (turned @ turned.T).numpy()


def by_distance(products: Float[np.ndarray, "pos pos"]) -> ByDistance:
    """Return the mean, the least and the most of the products at each distance."""
    diagonals = [np.diagonal(products, distance) for distance in range(len(products))]
    mean, least, most = (np.array([of(diagonal) for diagonal in diagonals]) for of in (np.mean, np.min, np.max))
    return ByDistance(mean=mean, least=least, most=most)


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
