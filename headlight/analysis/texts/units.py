"""Transformations of a pattern for display: merge tokens to words, find sinks, combine several heads."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int

from headlight.analysis.flow.divergence import has_choice
from transformer_core.errors import ConfigError, Message, TextError, mark

_QUERIES, _KEYS = mark("queries"), mark("keys")
SINK_SHARE = 0.3  # share of the mean query's attention that a sink exceeds
SINK_TIMES_EVEN = 2.0  # and this many times the share under uniform attention: in short texts, 0.3 is not much


def merge_tokens(
    pattern: Float[np.ndarray, "*heads query key"], query_places: Sequence[int], key_places: Sequence[int]
) -> Float[np.ndarray, "*heads query_word key_word"]:
    """Return a pattern between words: the sum over the keys and the mean over the queries of each word's tokens.

    Args:
        pattern: attention weights between tokens.
        query_places: for each query the number of its word: 0, 1, 2, ..., none left out.
        key_places: for each key.

    Returns:
        Each row sums to 1 where the rows of all its tokens do.

    Raises:
        TextError: the words are those of another text.

    Source: Clark et al. 2019, "What does BERT look at?", sec. 4.1.
    """
    queries, keys = _starts(query_places, pattern.shape[-2], _QUERIES), _starts(key_places, pattern.shape[-1], _KEYS)
    n_tokens = np.diff(queries, append=pattern.shape[-2]).astype(pattern.dtype)
    summed = np.add.reduceat(np.add.reduceat(pattern, keys, axis=-1), queries, axis=-2)
    return summed / n_tokens[:, None]


def merge_mask(
    mask: Bool[np.ndarray, "query key"], query_places: Sequence[int], key_places: Sequence[int]
) -> Bool[np.ndarray, "query_word key_word"]:
    """Return which words may attend to which: those with any token that may attend to any token of the other.

    Raises:
        TextError: the words are those of another text.
    """
    queries, keys = _starts(query_places, mask.shape[0], _QUERIES), _starts(key_places, mask.shape[1], _KEYS)
    return np.logical_or.reduceat(np.logical_or.reduceat(mask, keys, axis=1), queries, axis=0)


def sink_keys(
    mean_pattern: Float[np.ndarray, "query key"], mask: Bool[np.ndarray, "query key"], *, share: float = SINK_SHARE
) -> Bool[np.ndarray, " key"]:
    """Return which keys are attention sinks: keys that get much attention whatever the query is.

    A sink gets more than `share` of the attention of the queries that may look at two keys or more, in the mean over
    all of these, and more than twice what it would get if each query spread its attention evenly.

    Args:
        mean_pattern: attention weights, the mean over the heads, and perhaps the layers, of interest.
        mask: True = may attend.
        share: in [0, 1].

    Source: Xiao et al. 2024, "Efficient streaming language models with attention sinks", for what they are; Gu et al.
    2025, "When attention sink emerges in language models", for a mean share above 0.3.
    Differs: they take the mean over the queries that may look at the key, which makes a sink of the last token where
    it alone looks at itself; here queries that may not count as 0. They ask each head, and know no second condition.
    """
    chosen = has_choice(mask)
    n_queries = max(int(chosen.sum()), 1)
    received = mean_pattern[chosen].sum(axis=0) / n_queries
    even = (mask[chosen] / mask[chosen].sum(axis=1, keepdims=True)).sum(axis=0) / n_queries
    return received > np.maximum(share, SINK_TIMES_EVEN * even)


def combine(
    patterns: Float[np.ndarray, "head query key"], weights: Float[np.ndarray, " head"]
) -> Float[np.ndarray, "query key"]:
    """Return the weighted mean of several heads' patterns.

    Args:
        patterns: attention weights.
        weights: not negative; only their proportions count.

    Returns:
        Each row sums to 1 where the heads' rows do.

    Raises:
        ConfigError: a weight below 0 or not finite, or none above 0.
    """
    bad = weights[~(np.isfinite(weights) & (weights >= 0))]
    if len(bad):
        raise ConfigError("the weight of a head must be 0 or more, got {got}; use 0 to leave a head out", got=bad[0])
    if not weights.any():
        raise ConfigError("all heads have weight 0, so there is nothing to show; raise one of them")
    shares = weights.astype(np.float64) / weights.max()  # first, so that the sum cannot overflow
    return np.tensordot((shares / shares.sum()).astype(patterns.dtype), patterns, axes=1)


def _starts(places: Sequence[int], n_tokens: int, what: str) -> Int[np.ndarray, " word"]:
    """Return the first token of each word.

    Raises:
        TextError: the number of places differs from that of tokens, or they are not in order.
    """
    steps = np.diff(np.asarray(places, dtype=np.int64), prepend=-1)
    if len(steps) != n_tokens or not np.isin(steps, (0, 1)).all() or steps[:1].sum() != min(n_tokens, 1):
        raise TextError(
            "the words do not match the pattern, which has {n_tokens} {what}; the words have {n} "
            "tokens: group the tokens of the same text",
            n_tokens=n_tokens,
            what=Message(what),
            n=len(steps),
        )
    return np.flatnonzero(steps)
