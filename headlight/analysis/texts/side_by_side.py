"""Two texts, or two model runs, side by side: the tokens that they share, and how far apart their heads are on them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from headlight.analysis.flow.divergence import head_changes
from headlight.analysis.heads.likeness import cka_matrix, pattern_distances
from headlight.analysis.heads.measures import HeadName
from transformer_core.errors import ConfigError
from transformer_core.text.labels import border_in, with_border

if TYPE_CHECKING:
    from headlight.analysis.trace.attention_maps import AttentionMaps

Labels = tuple[Sequence[str], Sequence[str]]
"""Of the queries and of the keys of an attention."""


class PairedPlaces(NamedTuple):
    """A position in text A and the corresponding one in text B."""

    a: int
    b: int
    label: str  # "it", or "tired → wide" where the tokens differ
    is_replaced: bool


@dataclass(frozen=True, kw_only=True)
class TokenAlignment:
    """The positions of two texts: each is in exactly one pair, or unpaired."""

    pairs: tuple[PairedPlaces, ...]  # in the order of both texts
    only_a: tuple[int, ...]
    only_b: tuple[int, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """Of the pairs."""
        return tuple(pair.label for pair in self.pairs)

    @property
    def places_a(self) -> list[int]:
        """The paired places of text A."""
        return [pair.a for pair in self.pairs]

    @property
    def places_b(self) -> list[int]:
        """The paired places of text B, in the order of their partners."""
        return [pair.b for pair in self.pairs]

    @property
    def is_telling(self) -> bool:
        """Whether at least two tokens, and at least half of the shorter text, are the same in both.

        With fewer, it is a matter of chance which tokens are paired.
        """
        n_same = sum(not pair.is_replaced for pair in self.pairs)
        shorter = len(self.pairs) + min(len(self.only_a), len(self.only_b))
        return n_same >= 2 and 2 * n_same >= shorter


@dataclass(frozen=True, kw_only=True)
class SharedTokens:
    """The queries and the keys of two model runs, paired with each other."""

    queries: TokenAlignment
    keys: TokenAlignment

    @classmethod
    def of(cls, a: Labels, b: Labels) -> "SharedTokens":
        """Pair the tokens of an attention of run A with those of one of run B."""
        return cls(queries=align_tokens(a[0], b[0]), keys=align_tokens(a[1], b[1]))

    @property
    def is_telling(self) -> bool:
        """Whether both the queries and the keys share enough tokens for a comparison."""
        return self.queries.is_telling and self.keys.is_telling


@dataclass(frozen=True, kw_only=True, eq=False)
class AlignedPatterns:
    """Two patterns on the tokens that two texts share: one row a pair of queries, one column a pair of keys.

    Weights are unchanged. Where a text has keys without a partner, a last column, elsewhere, holds the weight on
    all of them together, so that each row still sums to 1 (or is all 0 where nothing may be attended).
    """

    a: Float[np.ndarray, "query key"]
    b: Float[np.ndarray, "query key"]
    mask_a: Bool[np.ndarray, "query key"]  # True = may attend; elsewhere: to at least one of those keys
    mask_b: Bool[np.ndarray, "query key"]
    query_labels: tuple[str, ...]
    key_labels: tuple[str, ...]  # labels of the pairs; the column `elsewhere` has none
    has_elsewhere: bool

    @property
    def mask(self) -> Bool[np.ndarray, "query key"]:
        """Where at least one of the two may attend, so that there is something to compare."""
        return self.mask_a | self.mask_b

    @property
    def difference(self) -> Float[np.ndarray, "query key"]:
        """B minus A; each row sums to 0 where both texts have something to attend to."""
        return self.b - self.a

    @property
    def distance(self) -> float:
        """The mean Jensen-Shannon distance of the two heads, to base 2: in [0, 1]."""
        return float(head_changes(self.a[None], self.b[None], self.mask)[0])


def align_tokens(a: Sequence[str], b: Sequence[str]) -> TokenAlignment:
    """Pair the tokens of two texts: equal tokens in the same order, and tokens replaced one for one.

    Of two pairs of texts, the first texts are aligned with each other, and so are the second ones.

    Args:
        a: labels of the tokens of text A; the mark where a second text begins is ignored in the comparison.
        b: those of text B.

    Returns:
        The alignment. Where some tokens of A stand for as many others in B, they are paired place by place and flagged
        as replaced; where their numbers differ, the correspondence is ambiguous, and they stay unpaired.

    Source: Ratcliff and Metzener 1988, as Python's difflib has it; no token is too frequent to be paired.
    """
    pairs: list[PairedPlaces] = []
    only_a: list[int] = []
    only_b: list[int] = []
    bare_a, bare_b = (with_border(labels, None) for labels in (a, b))
    cut_a, cut_b = border_in(a), border_in(b)
    if cut_a is None or cut_b is None:
        cut_a, cut_b = len(a), len(b)
    opcodes = [
        (kind, range(from_a + start_a, from_a + end_a), range(from_b + start_b, from_b + end_b))
        for from_a, part_a, from_b, part_b in (
            (0, bare_a[:cut_a], 0, bare_b[:cut_b]),
            (cut_a, bare_a[cut_a:], cut_b, bare_b[cut_b:]),
        )
        for kind, start_a, end_a, start_b, end_b in SequenceMatcher(None, part_a, part_b, autojunk=False).get_opcodes()
    ]
    for kind, places_a, places_b in opcodes:
        if len(places_a) == len(places_b):
            is_replaced = kind == "replace"
            pairs += [
                PairedPlaces(i, j, f"{a[i]} → {bare_b[j]}" if is_replaced else a[i], is_replaced)
                for i, j in zip(places_a, places_b, strict=True)
            ]
        else:
            only_a += places_a
            only_b += places_b
    return TokenAlignment(pairs=tuple(pairs), only_a=tuple(only_a), only_b=tuple(only_b))


def aligned_patterns(
    pattern_a: Float[np.ndarray, "query_a key_a"],
    pattern_b: Float[np.ndarray, "query_b key_b"],
    mask_a: Bool[np.ndarray, "query_a key_a"],
    mask_b: Bool[np.ndarray, "query_b key_b"],
    shared: SharedTokens,
) -> AlignedPatterns:
    """Return two patterns restricted to the queries and keys that are paired; nothing is normalized again.

    Args:
        pattern_a: attention weights of a head on text A.
        pattern_b: those of the same head, or of another, on text B.
        mask_a: True = may attend, on text A.
        mask_b: the same on text B.
        shared: the tokens of both texts, paired.
    """
    queries, keys = shared.queries, shared.keys
    has_elsewhere = bool(keys.only_a or keys.only_b)
    a, allowed_a = _on_pairs(pattern_a, mask_a, queries.places_a, keys.places_a, keys.only_a)
    b, allowed_b = _on_pairs(pattern_b, mask_b, queries.places_b, keys.places_b, keys.only_b)
    n_columns = len(keys.pairs) + has_elsewhere
    return AlignedPatterns(
        a=a[:, :n_columns],
        b=b[:, :n_columns],
        mask_a=allowed_a[:, :n_columns],
        mask_b=allowed_b[:, :n_columns],
        query_labels=queries.labels,
        key_labels=keys.labels,
        has_elsewhere=has_elsewhere,
    )


def aligned_head(
    a: "AttentionMaps", b: "AttentionMaps", shared: SharedTokens, head_a: tuple[int, int], head_b: tuple[int, int]
) -> AlignedPatterns:
    """Return a head (layer, number) of A and one of B, restricted to the tokens that `shared` pairs."""
    patterns = a.pattern(*head_a), b.pattern(*head_b)
    return aligned_patterns(*patterns, a.mask(head_a[0]), b.mask(head_b[0]), shared)


def changes(a: "AttentionMaps", b: "AttentionMaps", shared: SharedTokens) -> Float[np.ndarray, "layer head"]:
    """Return the distance between each head of A and the same head of B, as `divergence.head_changes` defines it.

    Args:
        a: an attention of run A.
        b: the same attention of run B.
        shared: their tokens, paired.

    Raises:
        ConfigError: they differ in their number of layers or heads.
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
        changed[layer, head] = aligned_head(a, b, shared, (layer, head), (layer, head)).distance
    return changed


def ranked_heads(changes: Mapping[str, Float[np.ndarray, "layer head"]]) -> list[tuple[HeadName, float]]:
    """Return all heads with their changes, the greatest change first; ties are in the order of the model.

    Args:
        changes: by name of attention.
    """
    heads = [
        (HeadName(name, *place), float(change)) for name, of in changes.items() for place, change in np.ndenumerate(of)
    ]
    return sorted(heads, key=lambda one: -one[1])


def distances_by_looking(
    a: "AttentionMaps", b: "AttentionMaps | None", shared: SharedTokens | None
) -> Float[np.ndarray, "head head"]:
    """Return the distances between the patterns of all heads of A, or of all heads of A followed by those of B.

    Args:
        a: an attention of run A; its heads are counted through all layers.
        b: an attention of run B; None: the heads of A alone.
        shared: the tokens of both, paired; needed with B.

    Returns:
        mean Jensen-Shannon distances to base 2, in [0, 1], symmetric, 0 on the diagonal. The queries that count are
        the same for all heads: those that have a choice in any layer.
    """
    if b is None or shared is None:
        heads = [a.pattern(*place) for place in np.ndindex(a.shape[:2])]
        return pattern_distances(np.stack(heads), mask=_any_mask(a))
    masks = _any_mask(a), _any_mask(b)
    partner = aligned_patterns(a.pattern(0, 0), b.pattern(0, 0), *masks, shared)
    heads_a = [aligned_head(a, b, shared, place, (0, 0)).a for place in np.ndindex(a.shape[:2])]
    heads_b = [aligned_head(a, b, shared, (0, 0), place).b for place in np.ndindex(b.shape[:2])]
    return pattern_distances(np.stack([*heads_a, *heads_b]), mask=partner.mask)


def distances_by_writing(
    a: Float[np.ndarray, "layer head pos d"],
    b: Float[np.ndarray, "layer_b head_b pos_b d_b"] | None,
    positions: TokenAlignment | None,
) -> Float[np.ndarray, "both both"]:
    """Return the distances between the outputs of all heads of A, or of all heads of A followed by those of B.

    The distance is (1 - CKA)^0.5, which is proportional to that between the centred, normalized Gram matrices.

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


def _any_mask(maps: "AttentionMaps") -> Bool[np.ndarray, "query key"]:
    return np.any([maps.mask(layer) for layer in range(maps.shape[0])], axis=0)


def _on_pairs(
    pattern: np.ndarray, mask: np.ndarray, queries: Sequence[int], keys: Sequence[int], unpaired: Sequence[int]
) -> tuple[Float[np.ndarray, "query column"], Bool[np.ndarray, "query column"]]:
    rows, allowed = pattern[list(queries)], mask[list(queries)]
    elsewhere, is_allowed = rows[:, list(unpaired)].sum(axis=1), allowed[:, list(unpaired)].any(axis=1)
    return np.column_stack([rows[:, list(keys)], elsewhere]), np.column_stack([allowed[:, list(keys)], is_allowed])
