"""The prediction of the next token: the probability of every token, and the attention rows."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transformer_core.cached_property import cached_property


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A possible next token."""

    token: int
    log_prob: float  # nats
    rank: int  # number of more probable tokens

    @property
    def probability(self) -> float:
        """In [0, 1]."""
        return math.exp(self.log_prob)


@dataclass(frozen=True, kw_only=True, eq=False)
class NextTokenPrediction:
    """The model's prediction after a token, with the attention rows of that position."""

    logits: Float[Tensor, " vocab"]  # single precision, on the CPU; -inf for a suppressed token
    log_sum: float  # their logsumexp, suppressed tokens included
    self_rows: Float[np.ndarray, "layer head key"]  # weights over the tokens so far; each row sums to 1
    cross_rows: Float[np.ndarray, "layer head src"] | None  # weights over the source; None without an encoder
    n_cached: int  # positions with cached keys and values
    n_read: int  # tokens of this forward pass: 1, or those of a prompt or a forced text
    n_rows: int  # texts of this forward pass: 1, or the beams of a search
    ms: float  # time of this forward pass

    @property
    def log_probs(self) -> Float[Tensor, " vocab"]:
        """Of the next token, in nats."""
        return self.logits - self.log_sum

    @property
    def is_finite(self) -> bool:
        """Whether no log-probability is NaN."""
        return math.isfinite(self.log_sum)

    @cached_property
    def entropy(self) -> float:
        """Of the next token, in nats."""
        return float(torch.special.entr(self.log_probs.exp()).sum())

    def candidates(self, n: int) -> tuple[Candidate, ...]:
        """Return the `n` most probable tokens, the best first; at most the whole vocabulary."""
        log_probs, tokens = self.log_probs.topk(min(n, len(self.logits)))
        ranks = torch.searchsorted(-log_probs, -log_probs)  # ties share a rank
        ranked = zip(log_probs.tolist(), tokens.tolist(), ranks.tolist(), strict=True)
        return tuple(Candidate(token=token, log_prob=p, rank=rank) for p, token, rank in ranked if p > -math.inf)

    def candidate(self, token: int) -> Candidate:
        """Return one token as a candidate."""
        log_probs = self.log_probs
        rank = int((log_probs > log_probs[token]).sum())
        return Candidate(token=token, log_prob=float(log_probs[token]), rank=rank)

    @property
    def n_bytes(self) -> int:
        """The memory that it holds, in bytes."""
        rows = self.self_rows.nbytes + (0 if self.cross_rows is None else self.cross_rows.nbytes)
        return rows + self.logits.nbytes
