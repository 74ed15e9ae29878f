"""Which head of one model does what a head of another does: a head's number means nothing, its pattern does."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.optimize import linear_sum_assignment  # type: ignore[import-untyped]

from headlight.analysis.flow.divergence import entropy
from transformer_core.errors import ConfigError

Patterns = Float[np.ndarray, "_ _ _ _"]
"""Of one text: [layer, head, query, key]."""


@dataclass(frozen=True, kw_only=True, eq=False)
class HeadMatching:
    """The heads of one attention in model A, each with the head of model B that is most like it."""

    n_layers: int
    n_heads: int  # of a layer
    similarity: Float[np.ndarray, "head_a head_b"]  # in [0, 1]; heads are counted through all layers
    partners: Int[np.ndarray, " head_a"]  # of each head of A a head of B, no two the same

    @property
    def matched(self) -> Float[np.ndarray, " head_a"]:
        """How like each other the two heads of each pair are."""
        return self.similarity[np.arange(len(self.partners)), self.partners]

    @property
    def mean_matched(self) -> float:
        """The mean similarity of the pairs."""
        return float(self.matched.mean())

    @property
    def mean_same_number(self) -> float:
        """The mean similarity of heads that have the same layer and number."""
        return float(self.similarity.diagonal().mean())

    def partner(self, layer: int, head: int) -> tuple[int, int]:
        """Return layer and head of B that a head of A is matched with."""
        partner_layer, in_layer = divmod(int(self.partners[layer * self.n_heads + head]), self.n_heads)
        return partner_layer, in_layer


def match_heads(
    a: Patterns | Sequence[Patterns],
    b: Patterns | Sequence[Patterns],
    *,
    masks: Bool[np.ndarray, "_ _"] | Sequence[Bool[np.ndarray, "_ _"]] | None = None,
    within_layers: bool = False,
) -> HeadMatching:
    """Match the heads of one attention of two models so that the sum of the pairs' similarities is the highest.

    The similarity of two heads is 1 - JSD, the Jensen-Shannon divergence of their rows over `key` in bits, averaged
    over the queries of all texts that may look at two keys or more: 1 for equal patterns, 0 for patterns that never
    look at the same key.

    Args:
        a: patterns [layer, head, query, key] of model A on one text, or on each of several.
        b: those of model B on the same texts; the number of layers and heads is the same.
        masks: [query, key] of each text, True = may attend; None: everything is allowed.
        within_layers: match only heads of the same layer.

    Raises:
        ConfigError: the patterns are of models of different shape, of different texts, or of none with a choice.

    Source: Lin 1991 for the divergence; Kuhn 1955 for the assignment.
    """
    texts_a, texts_b = _as_list(a), _as_list(b)
    shapes_a, shapes_b = [text.shape for text in texts_a], [text.shape for text in texts_b]
    if shapes_a != shapes_b or len({shape[:2] for shape in shapes_a}) != 1:
        raise ConfigError(
            "heads can only be matched between models of the same shape on the same texts; got "
            "patterns of shape {a} and {b}: choose two models with the same number of layers and "
            "heads, and run both on the same texts",
            a=shapes_a[:3],
            b=shapes_b[:3],
        )
    allowed = [np.ones(shape[2:], dtype=bool) for shape in shapes_a] if masks is None else _as_list(masks)
    n_layers, n_heads = shapes_a[0][:2]
    total, n_queries = np.zeros((n_layers * n_heads, n_layers * n_heads)), 0
    for one, other, mask in zip(texts_a, texts_b, allowed, strict=True):
        has_choice = mask.sum(axis=1) >= 2
        total += similarities(_rows(one, has_choice), _rows(other, has_choice)) * has_choice.sum()
        n_queries += int(has_choice.sum())
    if not n_queries:
        raise ConfigError("no query in these texts has more than one allowed key; use longer texts")
    similarity = total / n_queries
    gain = similarity
    if within_layers:
        layer = np.arange(n_layers * n_heads) // n_heads
        gain = np.where(layer[:, None] == layer, similarity, -1.0 * n_layers * n_heads)  # never worth it
    _, partners = linear_sum_assignment(gain, maximize=True)
    return HeadMatching(n_layers=n_layers, n_heads=n_heads, similarity=similarity, partners=partners)


def similarities(
    a: Float[np.ndarray, "head_a query key"], b: Float[np.ndarray, "head_b query key"]
) -> Float[np.ndarray, "head_a head_b"]:
    """Return 1 - the Jensen-Shannon divergence in bits of each head of A and each of B, averaged over queries.

    JSD(p, q) = H((p + q) / 2) - (H(p) + H(q)) / 2, with H(p) = - sum p log2 p.
    """
    n_queries = max(a.shape[1], 1)
    own_a, own_b = _bits(a), _bits(b)  # head
    divergence = [_bits((one + b) / 2) - (own + own_b) / 2 for one, own in zip(a, own_a, strict=True)]
    return (1 - np.stack(divergence) / n_queries).clip(0, 1)


def _bits(rows: Float[np.ndarray, "head query key"]) -> Float[np.ndarray, " head"]:
    """Return the sum of the rows' entropies, in bits."""
    return entropy(rows, unit="bits").sum(axis=1)


def _rows(patterns: Patterns, queries: Bool[np.ndarray, " query"]) -> Float[np.ndarray, "head some key"]:
    """Return the heads of all layers in one row, and the queries that count, in the precision of float64."""
    n_layers, n_heads, _, n_keys = patterns.shape
    return patterns[:, :, queries].reshape(n_layers * n_heads, -1, n_keys).astype(np.float64)


def _as_list(texts: np.ndarray | Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the arrays of several texts, or of a single one, as a list."""
    return [texts] if isinstance(texts, np.ndarray) else list(texts)
