"""Two model runs side by side: their heads on the tokens that they share, and how far apart those are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float

from headlight.analysis.flow.divergence import head_changes
from headlight.analysis.heads.likeness import cka_matrix, pattern_distances
from headlight.analysis.heads.measures import HeadName
from headlight.analysis.texts.token_alignment import (
    AlignedPatterns,
    TokenAlignment,
    align_tokens,
    aligned_patterns,
)
from transformer_core.errors import ConfigError

Labels = tuple[Sequence[str], Sequence[str]]
"""Of the queries and of the keys of an attention."""


@runtime_checkable
class HeadPatterns(Protocol):
    """One attention on one text, as `AttentionMaps` has it."""

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Layers, heads, queries, keys."""

    def pattern(self, layer: int, head: int) -> Float[np.ndarray, "query key"]:
        """Return the pattern of a head."""

    def mask(self, layer: int) -> Bool[np.ndarray, "query key"]:
        """Return the mask of a layer, True = may attend."""


@dataclass(frozen=True, kw_only=True)
class SharedTokens:
    """The queries and the keys of two model runs, each under the one that stands for it in the other."""

    queries: TokenAlignment
    keys: TokenAlignment

    @classmethod
    def of(cls, a: Labels, b: Labels) -> "SharedTokens":
        """Pair the tokens of an attention of run A with those of one of run B."""
        return cls(queries=align_tokens(a[0], b[0]), keys=align_tokens(a[1], b[1]))

    @property
    def is_telling(self) -> bool:
        """Whether both queries and keys give something to compare."""
        return is_telling(self.queries) and is_telling(self.keys)


def is_telling(tokens: TokenAlignment) -> bool:
    """Return whether two tokens at least, and half of the shorter text, are the same in both.

    Where fewer are, which ones are paired is a matter of chance.
    """
    n_same = sum(not pair.is_replaced for pair in tokens.pairs)
    shorter = len(tokens.pairs) + min(len(tokens.only_a), len(tokens.only_b))
    return n_same >= 2 and 2 * n_same >= shorter


def aligned_head(
    a: HeadPatterns, b: HeadPatterns, shared: SharedTokens, head_a: tuple[int, int], head_b: tuple[int, int]
) -> AlignedPatterns:
    """Return a head of A and a head of B on the tokens that both texts have.

    Args:
        a: an attention of run A.
        b: one of run B.
        shared: their tokens, paired.
        head_a: layer and head of A.
        head_b: those of B.
    """
    patterns = a.pattern(*head_a), b.pattern(*head_b)
    return aligned_patterns(*patterns, a.mask(head_a[0]), b.mask(head_b[0]), shared.queries, shared.keys)


def distance(pair: AlignedPatterns) -> float:
    """Return the mean Jensen-Shannon distance of two aligned heads, to base 2: in [0, 1]."""
    return float(head_changes(pair.a[None], pair.b[None], pair.mask)[0])


def changes(a: HeadPatterns, b: HeadPatterns, shared: SharedTokens) -> Float[np.ndarray, "layer head"]:
    """Return how far apart each head of A and the head of the same number of B are, as `divergence.head_changes` does.

    Args:
        a: an attention of run A.
        b: the same attention of run B.
        shared: their tokens, paired.

    Raises:
        ConfigError: they have not as many layers and heads.
    """
    if a.shape[:2] != b.shape[:2]:
        shapes = [f"{n_layers} layers of {n_heads} heads" for n_layers, n_heads in (a.shape[:2], b.shape[:2])]
        raise ConfigError(
            "only models of the same shape can be compared head by head, and these have {a} and {b}; use the head "
            "map instead",
            a=shapes[0],
            b=shapes[1],
        )
    changed = np.zeros(a.shape[:2])
    for layer, head in np.ndindex(changed.shape):
        changed[layer, head] = distance(aligned_head(a, b, shared, (layer, head), (layer, head)))
    return changed


def ranked_heads(changes: Mapping[str, Float[np.ndarray, "layer head"]]) -> list[tuple[HeadName, float]]:
    """Return all heads and how much each changed, the greatest change first; equal ones in the order of the model.

    Args:
        changes: by name of attention.
    """
    heads = [
        (HeadName(name, *place), float(change)) for name, of in changes.items() for place, change in np.ndenumerate(of)
    ]
    return sorted(heads, key=lambda one: -one[1])


def distances_by_looking(
    a: HeadPatterns, b: HeadPatterns | None, shared: SharedTokens | None
) -> Float[np.ndarray, "head head"]:
    """Return how far apart the patterns of each two heads are: those of A, or those of A and after them those of B.

    Args:
        a: an attention of run A; its heads are counted through all layers.
        b: an attention of run B; None: the heads of A alone.
        shared: the tokens of both, paired; needed with B.

    Returns:
        mean Jensen-Shannon distances to base 2, in [0, 1], symmetric, 0 on the diagonal. The queries that count are
        the same for all heads: those that have a choice in any layer.
    """
    if b is None or shared is None:
        return pattern_distances(_heads(a), mask=_any_mask(a))
    masks = _any_mask(a), _any_mask(b)
    partner = aligned_patterns(a.pattern(0, 0), b.pattern(0, 0), *masks, shared.queries, shared.keys)
    heads_a = [aligned_head(a, b, shared, place, (0, 0)).a for place in np.ndindex(a.shape[:2])]
    heads_b = [aligned_head(a, b, shared, (0, 0), place).b for place in np.ndindex(b.shape[:2])]
    return pattern_distances(np.stack([*heads_a, *heads_b]), mask=partner.mask)


def distances_by_writing(
    a: Float[np.ndarray, "layer head pos d"],
    b: Float[np.ndarray, "layer_b head_b pos_b d_b"] | None,
    positions: TokenAlignment | None,
) -> Float[np.ndarray, "both both"]:
    """Return how far apart what each two heads write is: those of A, or those of A and after them those of B.

    The distance is (1 - CKA)^0.5: up to a factor that of the two Gram matrices, centred and of length 1.

    Args:
        a: what each head of A writes, as `head_outputs` gives it.
        b: what each head of B writes; its width may be another. None: the heads of A alone.
        positions: the positions of both, paired; needed with B.

    Returns:
        in [0, 1], symmetric, 0 on the diagonal.

    Source: Kornblith et al. 2019, sec. 3, for CKA.
    """
    written = list(a.reshape(-1, *a.shape[2:]))
    if b is not None and positions is not None:
        written = [head[positions.places_a] for head in written]
        written += [head[positions.places_b] for head in b.reshape(-1, *b.shape[2:])]
    likeness = cka_matrix(written)
    np.fill_diagonal(likeness, 1)  # a head that writes the same at all positions is still like itself
    return np.sqrt(1 - likeness)


def layer_likeness(
    a: Float[np.ndarray, "state pos d"], b: Float[np.ndarray, "state_b pos_b d_b"], positions: TokenAlignment
) -> Float[np.ndarray, "state state_b"]:
    """Return the linear CKA of each state of a stack of A with each of B, on the positions that are paired.

    Args:
        a: the residual stream of A before the first block and after each, as `layer_states` gives it.
        b: that of B; its width may be another.
        positions: the positions of both, paired.
    """
    return cka_matrix([state[positions.places_a] for state in a], [state[positions.places_b] for state in b])


def _heads(patterns: HeadPatterns) -> Float[np.ndarray, "head query key"]:
    return np.stack([patterns.pattern(*place) for place in np.ndindex(patterns.shape[:2])])


def _any_mask(patterns: HeadPatterns) -> Bool[np.ndarray, "query key"]:
    """Return where any layer may attend."""
    return np.any([patterns.mask(layer) for layer in range(patterns.shape[0])], axis=0)
