"""The simple attention habits of heads, each as the cells of a pattern that a head with that habit attends to."""

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int

if TYPE_CHECKING:
    from headlight.analysis.trace.cases import KnownText

NEAR = 3  # tokens


def aligned_cells(case: "KnownText", n_queries: int, n_keys: int) -> Bool[np.ndarray, "query key"]:
    """Return, for each position whose token is determined by other tokens, the positions of those tokens."""
    cells = np.zeros((n_queries, n_keys), dtype=bool)
    for query, keys in zip(case.determined, case.sources, strict=False):  # without sources, nothing is known
        cells[query, list(keys)] = True
    return cells


def antecedent_cells(case: "KnownText", n_tokens: int) -> Bool[np.ndarray, "query key"]:
    """Return, for each pronoun of the source, the tokens of its antecedent."""
    cells = np.zeros((n_tokens, n_tokens), dtype=bool)
    for query, key in case.antecedents:
        cells[query, key] = True
    return cells


def previous_cells(n_tokens: int) -> Bool[np.ndarray, "query key"]:
    """Return, for each token, the one before it; the first two are left out, as they have no other choice."""
    return np.eye(n_tokens, k=-1, dtype=bool) & _from(2, n_tokens)


def first_cells(n_tokens: int) -> Bool[np.ndarray, "query key"]:
    """Return the first token as the key of every query except the first two."""
    return (np.arange(n_tokens) == 0) & _from(2, n_tokens)


def near_cells(n_tokens: int) -> Bool[np.ndarray, "query key"]:
    """Return, for each token, itself and up to three on either side; tokens with too few before them are left out."""
    place = np.arange(n_tokens)
    return (np.abs(place[:, None] - place) <= NEAR) & _from(NEAR + 1, n_tokens)


def induction_cells(
    tokens: Int[np.ndarray, "*texts pos"], is_special: Bool[np.ndarray, "*texts pos"], queries: slice = slice(None)
) -> Bool[np.ndarray, "*texts query pos"]:
    """Return, for each token that occurred before, the tokens right after its earlier occurrences.

    Args:
        tokens: token ids of one text, or of several of equal length.
        is_special: True = a special token, whose recurrence does not count as a repetition.
        queries: the rows to return.

    Source: Olsson et al. 2022, prefix matching.
    Differs: they measure on random tokens that are repeated as a whole; here any text will do.
    """
    places = np.arange(tokens.shape[-1])
    is_same = (tokens[..., queries, None] == tokens[..., None, :]) & ~is_special[..., queries, None]
    is_repeated = is_same & (places < places[queries, None])  # query, earlier occurrence
    return np.concatenate([np.zeros_like(is_repeated[..., :1]), is_repeated[..., :-1]], axis=-1)


def share_weights(cells: Bool[np.ndarray, "*texts query key"]) -> Float[np.ndarray, "*texts query key"]:
    """Return weights that, multiplied by a pattern and summed, give the mean share of attention on the cells.

    The mean is over the queries that have such cells, weighted equally. If no query has any, all weights are 0.
    """
    n_queries = cells.any(axis=-1).sum(axis=-1)  # texts
    return cells / np.maximum(n_queries, 1)[..., None, None]


def mean_share(
    pattern: Float[np.ndarray, "*heads query key"], cells: Bool[np.ndarray, "query key"]
) -> Float[np.ndarray, "*heads"] | None:
    """Return the mean share of attention, in [0, 1], that lies on the cells; None where there are none."""
    return (pattern * share_weights(cells)).sum(axis=(-2, -1)) if cells.any() else None


def closeness(
    queries: Int[np.ndarray, "*orders query"],
    keys: Int[np.ndarray, "*orders key"],
    mask: Bool[np.ndarray, "query key"],
    n_queries: int,
) -> Float[np.ndarray, "*orders query key"]:
    """Return how close each key is to the diagonal: 1 on it, 0 at the farthest key that the query may attend to.

    Diagonality is (D - U) / (1 - U), where D is the mean closeness weighted by attention, over the queries with a
    choice, and U that of uniform attention.

    Args:
        queries: positions of the queries. Of m keys, the one on the diagonal of query i of n is at
            i (m - 1) / (n - 1), rounded.
        keys: positions of all keys.
        mask: of these queries and keys, True = may attend.
        n_queries: of the whole text.

    Source: Zhang et al. 2021, "On the usefulness of self-attention for automatic speech recognition with
    Transformers", for D.
    Differs: the farthest key is an allowed one, U is subtracted, and the diagonal is scaled to the keys.
    """
    diagonal = np.rint(queries * (keys.shape[-1] - 1) / max(n_queries - 1, 1))
    distance = np.abs(keys[..., None, :] - diagonal[..., None])
    farthest = np.where(mask, distance, 0).max(axis=-1, keepdims=True)
    return 1 - distance / np.maximum(farthest, 1)


def _from(first: int, n_tokens: int) -> Bool[np.ndarray, "query 1"]:
    return np.arange(n_tokens)[:, None] >= first
