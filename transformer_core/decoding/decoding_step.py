"""A token of a tree of steps, and the prediction that follows it: the probability of every token, and attention rows.

Attention rows are selected for one head, or averaged over heads.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transformer_core.cached_property import cached_property
from transformer_core.decoding.settings import Sampling


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A possible next token."""

    token: int
    log_prob: float  # nats
    rank: int  # number of more probable tokens

    @property
    def probability(self) -> float:
        """The probability, in [0, 1]."""
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
        """The memory that this prediction holds, in bytes."""
        rows = self.self_rows.nbytes + (0 if self.cross_rows is None else self.cross_rows.nbytes)
        return rows + self.logits.nbytes


@dataclass(kw_only=True, eq=False)
class DecodingStep:
    """A token in a tree of steps, with the model's prediction after it."""

    token: int
    position: int  # among the decoder's tokens, from 0
    parent: "DecodingStep | None" = field(repr=False)
    is_given: bool  # <bos>, or a token of the prompt
    # by token; other threads may add some at any time, so iterate over `list(children.values())`
    children: "dict[int, DecodingStep]" = field(default_factory=dict, repr=False)
    prediction: NextTokenPrediction | None = field(default=None, repr=False)  # of the next token; None until read
    kept: Float[Tensor, "layer both_heads d_head"] | None = field(default=None, repr=False)  # keys, then values
    choices: dict[Sampling, int] = field(default_factory=dict, repr=False)  # the next token that sessions have chosen
    _chosen: Candidate | None = field(default=None, init=False, repr=False)

    @property
    def decision(self) -> NextTokenPrediction | None:
        """The prediction from which this token was chosen; None for the first token, or if its parent is unread."""
        return None if self.parent is None else self.parent.prediction

    @property
    def chosen(self) -> Candidate | None:
        """This token as a candidate of `decision`."""
        if self._chosen is None and self.decision is not None:
            self._chosen = self.decision.candidate(self.token)
        return self._chosen

    @property
    def log_prob(self) -> float:
        """The log-probability of this token given those before it, in nats; 0 without a prediction."""
        return 0.0 if self.chosen is None else self.chosen.log_prob

    def path(self) -> "list[DecodingStep]":
        """Return all steps from the first token to this one."""
        backwards: list[DecodingStep] = []
        step: DecodingStep | None = self
        while step is not None:
            backwards.append(step)
            step = step.parent
        return backwards[::-1]

    def written(self) -> "list[DecodingStep]":
        """Return the steps of the path that were generated."""
        return [step for step in self.path() if not step.is_given]

    @property
    def total_log_prob(self) -> float:
        """The log-probability of all generated tokens up to this step, in nats."""
        return math.fsum(step.log_prob for step in self.written())


AttentionKind = Literal["decoder", "cross"]  # over the tokens so far, or over the source


@dataclass(frozen=True, kw_only=True)
class Aim:
    """A head, or the mean of several."""

    layer: int
    head: int
    mean: Literal["", "layer", "all"] = ""  # over the heads of the layer, or over all heads

    def of(self, rows: Float[np.ndarray, "layer head *key"]) -> Float[np.ndarray, "*key"]:
        """Return the weights of the head or the mean; each row sums to 1, or is all 0 if no key may be attended to."""
        if self.mean == "all":
            return rows.mean(axis=(0, 1))
        return rows[self.layer].mean(axis=0) if self.mean == "layer" else rows[self.layer, self.head]


def attention_weights(prediction: NextTokenPrediction, kind: AttentionKind, aim: Aim) -> Float[np.ndarray, " key"]:
    """Return the attention weights of a prediction; empty if there is no such attention."""
    rows = prediction.self_rows if kind == "decoder" else prediction.cross_rows
    return np.zeros(0, dtype=np.float32) if rows is None else aim.of(rows)


def written_weights(steps: Sequence[DecodingStep], kind: AttentionKind, aim: Aim) -> Float[np.ndarray, "tgt key"]:
    """Return one row per step: the weights of the prediction of its token.

    Args:
        steps: consecutive, each with a decision.
        kind: over the tokens so far, with shorter rows padded with 0; or over the source.
        aim: the head, or the mean.
    """
    rows = [attention_weights(step.decision, kind, aim) for step in steps if step.decision is not None]
    matrix = np.zeros((len(rows), max(map(len, rows), default=0)), dtype=np.float32)
    for i, row in enumerate(rows):
        matrix[i, : len(row)] = row
    return matrix
