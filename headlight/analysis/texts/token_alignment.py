"""Two texts side by side: which token of one stands for which of the other, and their patterns on what they share."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from transformer_core.errors import mark
from transformer_core.text.labels import border_in, with_border

ELSEWHERE = mark("elsewhere")


class PairedPlaces(NamedTuple):
    """A place in text A and the one in text B that stands for it."""

    a: int
    b: int
    label: str  # "it", or "tired → wide" where another token stands there
    is_replaced: bool


@dataclass(frozen=True, kw_only=True)
class TokenAlignment:
    """The places of two texts: every one is in one pair, or in one text only."""

    pairs: tuple[PairedPlaces, ...]  # in the order of both texts
    only_a: tuple[int, ...]
    only_b: tuple[int, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the pairs."""
        return tuple(pair.label for pair in self.pairs)

    @property
    def places_a(self) -> list[int]:
        """The paired places of text A."""
        return [pair.a for pair in self.pairs]

    @property
    def places_b(self) -> list[int]:
        """The paired places of text B, each under its partner."""
        return [pair.b for pair in self.pairs]


@dataclass(frozen=True, kw_only=True, eq=False)
class AlignedPatterns:
    """Two patterns on the tokens that two texts share: one row a pair of queries, one column a pair of keys.

    Weights are as they were. Where a text has keys without a partner, a last column, "elsewhere", holds the weight on
    all of them together, so that each row still sums to 1 (or is all 0 where nothing may be attended).
    """

    a: Float[np.ndarray, "query key"]
    b: Float[np.ndarray, "query key"]
    mask_a: Bool[np.ndarray, "query key"]  # True = may attend; elsewhere: to at least one of those keys
    mask_b: Bool[np.ndarray, "query key"]
    query_labels: tuple[str, ...]
    key_labels: tuple[str, ...]
    has_elsewhere: bool

    @property
    def mask(self) -> Bool[np.ndarray, "query key"]:
        """Where at least one of the two may attend, so that there is something to compare."""
        return self.mask_a | self.mask_b

    @property
    def difference(self) -> Float[np.ndarray, "query key"]:
        """B minus A; each row sums to 0 where both texts have something to attend to."""
        return self.b - self.a


def align_tokens(a: Sequence[str], b: Sequence[str]) -> TokenAlignment:
    """Pair the tokens of two texts: equal ones in the same order, and those that were replaced one for one.

    Of two pairs of texts, the first ones are aligned and the second ones.

    Args:
        a: labels of the tokens of text A; the mark where a second text begins makes no token another.
        b: those of text B.

    Returns:
        The alignment. Where some tokens of A stand for as many others in B, they are paired place by place and flagged
        as replaced; where their numbers differ, nobody can say which stands for which, and they have no partner.

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
    queries: TokenAlignment,
    keys: TokenAlignment,
) -> AlignedPatterns:
    """Return two patterns restricted to the queries and keys that are paired; nothing is normalized again.

    Args:
        pattern_a: attention weights of a head on text A.
        pattern_b: those of the same head, or of another, on text B.
        mask_a: True = may attend, on text A.
        mask_b: the same on text B.
        queries: the alignment of the queries' tokens.
        keys: that of the keys'; in self-attention the same.
    """
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
        key_labels=(*keys.labels, ELSEWHERE)[:n_columns],
        has_elsewhere=has_elsewhere,
    )


def _on_pairs(
    pattern: np.ndarray, mask: np.ndarray, queries: Sequence[int], keys: Sequence[int], unpaired: Sequence[int]
) -> tuple[Float[np.ndarray, "query column"], Bool[np.ndarray, "query column"]]:
    """Return pattern and mask on paired queries and keys, and a last column for the keys without a partner."""
    rows, allowed = pattern[list(queries)], mask[list(queries)]
    elsewhere, is_allowed = rows[:, list(unpaired)].sum(axis=1), allowed[:, list(unpaired)].any(axis=1)
    return np.column_stack([rows[:, list(keys)], elsewhere]), np.column_stack([allowed[:, list(keys)], is_allowed])
