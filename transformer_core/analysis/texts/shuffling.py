"""What chance gives: a text whose tokens stand in another order, under weights that stay where they are."""

from collections.abc import Collection, Sequence

import numpy as np
from jaxtyping import Bool, Int

Orders = Int[np.ndarray, "order pos"]
"""Which token of a text stands at each place; the first order is the text's own."""


def orders_of(tokens: Sequence[int], special: Collection[int], *, n_shuffles: int, seed: int = 0) -> Orders:
    """Return the order in which a text stands, and others, drawn at random: the same ones for the same text and seed.

    Args:
        tokens: of the text.
        special: tokens that stay in their places: what lies on them by habit shall not count as chance.
        n_shuffles: how many orders to draw.
        seed: for other draws of the same text.
    """
    random = np.random.default_rng((seed, *tokens))
    orders = np.tile(np.arange(len(tokens)), (1 + n_shuffles, 1))
    movable = np.flatnonzero(~np.isin(tokens, list(special)))
    orders[1:, movable] = random.permuted(orders[1:, movable], axis=1)
    return orders


def rearranged(
    cells: Bool[np.ndarray, "query key"], queries: Int[np.ndarray, "order query"], keys: Int[np.ndarray, "order key"]
) -> Bool[np.ndarray, "order query key"]:
    """Return where the tokens that belong together stand in each order.

    Args:
        cells: of the text in its own order: which queries and which keys belong together.
        queries: orders of the text that asks.
        keys: orders of the text that is asked; in self-attention the same.
    """
    return cells[queries[:, :, None], keys[:, None, :]]
