"""What positions have in common: dot products of their encodings, and how those fall with the distance."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float

from transformer_core.config import ModelConfig
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
