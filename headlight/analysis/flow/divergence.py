"""How far apart two distributions over the same keys are, and by how much a head's pattern changed."""

from typing import Literal

import numpy as np
from jaxtyping import Bool, Float

Rows = Float[np.ndarray, "*rows key"]

_TINY = np.finfo(np.float64).tiny  # replaces 0 inside a logarithm; the factor in front of it is 0


def entropy(p: Rows, *, unit: Literal["nats", "bits"] = "nats") -> Float[np.ndarray, "*rows"]:
    """Return - sum p log p over the last axis, where 0 log 0 is 0.

    Args:
        p: distributions; an all-zero row has entropy 0.
        unit: of the result: nats for the natural logarithm, bits for that to base 2.

    Returns:
        in [0, log n_keys] where the rows sum to 1.

    Source: Shannon 1948, sec. 6.
    """
    return np.asarray(-_x_log_x(p, np.log if unit == "nats" else np.log2).sum(axis=-1))


def js_divergence(p: Float[np.ndarray, "*#rows key"], q: Float[np.ndarray, "*#rows key"]) -> Float[np.ndarray, "*rows"]:
    """Return the Jensen-Shannon divergence H((p + q) / 2) - (H(p) + H(q)) / 2 over the last axis, in bits.

    Args:
        p: distributions, one per row; computed in float64 whatever the input type.
        q: others over the same keys; leading axes of length 1 broadcast.

    Returns:
        in [0, 1]: exactly 0 for equal rows, 1 for rows that share no key; 1/2 between an all-zero row and
        any that sums to 1. Its square root is a metric: the Jensen-Shannon distance (Endres and Schindelin 2003).

    Source: Lin 1991, eq. (4.1), with both weights 1/2.
    """
    p, q = p.astype(np.float64), q.astype(np.float64)
    own = (entropy(p, unit="bits") + entropy(q, unit="bits")) / 2
    return np.asarray((entropy((p + q) / 2, unit="bits") - own).clip(0, 1))


def js_divergences(
    a: Float[np.ndarray, "head_a *rows key"], b: Float[np.ndarray, "head_b *rows key"] | None = None
) -> Float[np.ndarray, "head_a head_b *rows"]:
    """Return the `js_divergence` of each head of a and each of b, row by row; b None: every two heads of a."""
    p = a.astype(np.float64)
    q = p if b is None else b.astype(np.float64)
    own_p, own_q = entropy(p, unit="bits"), entropy(q, unit="bits")
    divergences = np.zeros((len(p), *own_q.shape))
    for head, rows in enumerate(p):
        first = head + 1 if b is None else 0
        own = (own_p[head] + own_q[first:]) / 2
        divergences[head, first:] = (entropy((rows + q[first:]) / 2, unit="bits") - own).clip(0, 1)
        if b is None:
            divergences[first:, head] = divergences[head, first:]
    return divergences


def head_changes(
    a: Float[np.ndarray, "*heads query key"],
    b: Float[np.ndarray, "*heads query key"],
    mask: Bool[np.ndarray, "query key"],
) -> Float[np.ndarray, "*heads"]:
    """Return the mean Jensen-Shannon distance between the two patterns of each head, over the queries with a choice.

    Args:
        a: attention weights of some heads.
        b: those of the same heads at another snapshot, or of as many others, on the same text.
        mask: True = may attend; see `has_choice`.

    Returns:
        in [0, 1]; 0 where no query has a choice: nothing could change.
    """
    rows = has_choice(mask)
    changes = np.zeros(a.shape[:-2])
    if rows.any():
        for head in np.ndindex(changes.shape):  # one at a time: float64 copies of all heads could be large
            changes[head] = np.sqrt(js_divergence(a[head][rows], b[head][rows])).mean()
    return changes


def has_choice(mask: Bool[np.ndarray, "*axes query key"]) -> Bool[np.ndarray, "*axes query"]:
    """Return which queries have a choice: those that may attend (True in the mask) to at least two keys."""
    rows: np.ndarray = mask.sum(axis=-1) >= 2
    return rows


def _x_log_x(x: Rows, log: np.ufunc = np.log) -> Rows:
    """Return x log x in float64, 0 where x is 0."""
    return x * log(np.maximum(x, _TINY, dtype=np.float64))
