"""The scores of a head by what they come from: the parts of the model that wrote into its queries and keys."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

SourceKind = Literal["token", "position", "segment", "head", "feed_forward", "bias"]


@dataclass(frozen=True, kw_only=True)
class SourceName:
    """A part of the model that writes into the vectors that an attention reads."""

    kind: SourceKind
    layer: int | None = None  # of heads and feed-forward networks
    head: int | None = None  # of heads
    attention: str | None = None  # of heads: "encoder", "decoder" or "cross"


@dataclass(frozen=True, kw_only=True, eq=False)
class ScoreSources:
    """The scores of one head on one text, by their sources; all in float64.

    Over both sources, a cell sums to scale * q · k; with the bias, to the model's score before the mask.
    """

    sources_of_query: tuple[SourceName, ...]
    sources_of_key: tuple[SourceName, ...]
    parts_q: Float[np.ndarray, "source query d_head"]  # they sum to q
    parts_k: Float[np.ndarray, "_ key d_head"]  # they sum to k
    bias: Float[np.ndarray, "query key"] | None  # what the distance adds; None: there is no such bias
    scale: float  # 1 / sqrt(d_head), or 1
    scores: Float[np.ndarray, "query key"]  # the model's, -inf where nothing may be attended to
    has_frozen_norms: (
        bool  # normalizations lie between: split as if each divided by a fixed number, what it did divide by
    )

    @property
    def n_bytes(self) -> int:
        """Memory that it takes, in bytes."""
        bias = 0 if self.bias is None else self.bias.nbytes
        return self.parts_q.nbytes + self.parts_k.nbytes + self.scores.nbytes + bias

    @property
    def largest_error(self) -> float:
        """The largest distance of the sums to the model's scores, where it may attend: its rounding."""
        summed = self.by_kind(None, None) + (0 if self.bias is None else self.bias)
        allowed = np.isfinite(self.scores)
        return float(np.abs(summed[allowed] - self.scores[allowed]).max(initial=0.0))

    def cell(self, query: int, key: int) -> Float[np.ndarray, "source_q source_k"]:
        """Return one score by the sources of its query (rows) and of its key (columns); without the bias."""
        return self.scale * self.parts_q[:, query] @ self.parts_k[:, key].T

    def by_kind(
        self, kinds_q: Collection[SourceKind] | SourceKind | None, kinds_k: Collection[SourceKind] | SourceKind | None
    ) -> Float[np.ndarray, "query key"]:
        """Return what all sources of some kinds make of each score together; without the bias.

        Args:
            kinds_q: on the side of the query; one kind, several, or None for all.
            kinds_k: on the side of the key.
        """
        q = self.parts_q[_of_kinds(self.sources_of_query, kinds_q)].sum(axis=0)
        k = self.parts_k[_of_kinds(self.sources_of_key, kinds_k)].sum(axis=0)
        return self.scale * q @ k.T


def _of_kinds(sources: tuple[SourceName, ...], kinds: Collection[SourceKind] | SourceKind | None) -> list[int]:
    """Return which sources are meant."""
    chosen = (kinds,) if isinstance(kinds, str) else kinds
    return [i for i, source in enumerate(sources) if chosen is None or source.kind in chosen]
