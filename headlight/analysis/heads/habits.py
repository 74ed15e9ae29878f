"""The plain habits of heads, as the cells of a pattern on which a head of that habit lays its attention."""

from collections.abc import Collection

import numpy as np
from jaxtyping import Bool, Float, Int

from headlight.analysis.trace.cases import Case

NEAR = 3  # tokens


def aligned_cells(case: Case, n_queries: int, n_keys: int) -> Bool[np.ndarray, "query key"]:
    """Return, for each place whose token others determine, those others."""
    cells = np.zeros((n_queries, n_keys), dtype=bool)
    for query, keys in zip(case.determined, case.sources, strict=False):  # without sources, nothing is known
        cells[query, list(keys)] = True
    return cells


def antecedent_cells(case: Case, n_tokens: int) -> Bool[np.ndarray, "query key"]:
    """Return, for each pronoun of the source, what it stands for."""
    cells = np.zeros((n_tokens, n_tokens), dtype=bool)
    for query, key in case.antecedents:
        cells[query, key] = True
    return cells


def previous_cells(n_tokens: int) -> Bool[np.ndarray, "query key"]:
    """Return the token before each; the first two have no other to choose."""
    return np.eye(n_tokens, k=-1, dtype=bool) & _from(2, n_tokens)


def first_cells(n_tokens: int) -> Bool[np.ndarray, "query key"]:
    """Return the first token, for all but the first two."""
    return (np.arange(n_tokens) == 0) & _from(2, n_tokens)


def near_cells(n_tokens: int) -> Bool[np.ndarray, "query key"]:
    """Return each token and up to three to either side, for those that have more before them than that."""
    place = np.arange(n_tokens)
    return (np.abs(place[:, None] - place) <= NEAR) & _from(NEAR + 1, n_tokens)


def induction_cells(
    tokens: Int[np.ndarray, "*texts pos"], special: Collection[int]
) -> Bool[np.ndarray, "*texts pos pos"]:
    """Return, for each token that occurred before, the tokens right after its earlier occurrences.

    Args:
        tokens: of one text, or of several of one length.
        special: tokens that say nothing: their coming again is no repetition.

    Source: Olsson et al. 2022, prefix matching.
    Differs: they measure on random tokens that are repeated as a whole; here any text will do.
    """
    is_same = (tokens[..., :, None] == tokens[..., None, :]) & ~np.isin(tokens, list(special))[..., :, None]
    is_repeated = is_same & np.tri(tokens.shape[-1], k=-1, dtype=bool)  # query, earlier occurrence
    return np.concatenate([np.zeros_like(is_repeated[..., :1]), is_repeated[..., :-1]], axis=-1)


def share_weights(cells: Bool[np.ndarray, "*texts query key"]) -> Float[np.ndarray, "*texts query key"]:
    """Return weights whose product with a pattern, summed, is the mean share of attention that lies on the cells.

    The mean is over the queries that have such cells; each counts alike. Where none has, all weights are 0.
    """
    n_queries = cells.any(axis=-1).sum(axis=-1)  # texts
    return cells / np.maximum(n_queries, 1)[..., None, None]


def mean_share(
    pattern: Float[np.ndarray, "*heads query key"], cells: Bool[np.ndarray, "query key"]
) -> Float[np.ndarray, "*heads"] | None:
    """Return the mean share of attention, in [0, 1], that lies on the cells; None where there are none."""
    return (pattern * share_weights(cells)).sum(axis=(-2, -1)) if cells.any() else None


def _from(first: int, n_tokens: int) -> Bool[np.ndarray, "query 1"]:
    """Return which queries count: those from a place on."""
    return np.arange(n_tokens)[:, None] >= first
