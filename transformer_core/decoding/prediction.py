"""The prediction of the next token: every token's probability, and the attention rows that it was made from."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transformer_core.cached_property import cached_property


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A token that may come next."""

    token: int
    log_prob: float  # nats
    rank: int  # so many tokens are more probable; 0: the most probable

    @property
    def probability(self) -> float:
        """In [0, 1]."""
        return math.exp(self.log_prob)


@dataclass(frozen=True, kw_only=True, eq=False)
class NextTokenPrediction:
    """The model's prediction after a token, with the attention rows of that position."""

    logits: Float[Tensor, " vocab"]  # single precision, on the CPU; -inf for a suppressed token
    log_sum: float  # log of the sum of all their exponentials, suppressed tokens included
    self_rows: Float[np.ndarray, "layer head key"]  # weights over the tokens so far; each row sums to 1
    cross_rows: Float[np.ndarray, "layer head src"] | None  # weights over the source; None without an encoder
    n_cached: int  # positions whose keys and values were there already
    n_read: int  # tokens that this forward read: 1, or as many as a prompt or a text of one's own has
    n_rows: int  # texts that it went on with at once: 1, or the beams of a search
    ms: float  # what this forward took

    @property
    def log_probs(self) -> Float[Tensor, " vocab"]:
        """Of the token that comes next, in nats."""
        return self.logits - self.log_sum

    @property
    def is_finite(self) -> bool:
        """Whether the log-probabilities are numbers, and not NaN."""
        return math.isfinite(self.log_sum)

    @cached_property
    def entropy(self) -> float:
        """Of the token that comes next, in nats."""
        return float(torch.special.entr(self.log_probs.exp()).sum())

    def candidates(self, n: int) -> tuple[Candidate, ...]:
        """Return the `n` most probable tokens, the best first; fewer where the vocabulary has no more."""
        log_probs, tokens = self.log_probs.topk(min(n, len(self.logits)))
        ranks = torch.searchsorted(-log_probs, -log_probs)  # the first place of each value: equals share a rank
        ranked = zip(log_probs.tolist(), tokens.tolist(), ranks.tolist(), strict=True)
        return tuple(Candidate(token=token, log_prob=p, rank=rank) for p, token, rank in ranked if p > -math.inf)

    def candidate(self, token: int) -> Candidate:
        """Return one token as a candidate."""
        log_probs = self.log_probs
        rank = int((log_probs > log_probs[token]).sum())
        return Candidate(token=token, log_prob=float(log_probs[token]), rank=rank)

    @property
    def n_bytes(self) -> int:
        """Memory that is kept, in bytes."""
        rows = self.self_rows.nbytes + (0 if self.cross_rows is None else self.cross_rows.nbytes)
        return rows + self.logits.nbytes
