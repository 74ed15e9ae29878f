"""Sampling: which tokens may come next, how probable each is then, and the one that is drawn."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_core.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How the next token is chosen; as it stands, drawn from what the model says.

    The filters act one after the other, in the order of the fields, each on what the one before has left.
    """

    repetition_penalty: float = 1.0  # positive logits of tokens that were there are divided by it, others multiplied
    temperature: float = 1.0  # logits are divided by it; 0: always the most probable token, which is greedy decoding
    top_k: int = 0  # so many of the most probable tokens stay; 0: all
    top_p: float = 1.0  # nucleus: the fewest most probable tokens that together reach this probability stay
    min_p: float = 0.0  # tokens less probable than this share of the most probable one go
    seed: int = 0  # of the draws

    def __post_init__(self) -> None:
        """Check every number."""
        checks = (
            ("repetition_penalty", self.repetition_penalty > 0, "above 0; 1 changes nothing"),
            ("temperature", self.temperature >= 0, "0 or above; 0 always takes the most probable token"),
            ("top_k", self.top_k >= 0, "0 or above; 0 keeps all tokens"),
            ("top_p", 0 < self.top_p <= 1, "above 0 and at most 1; 1 keeps all tokens"),
            ("min_p", 0 <= self.min_p <= 1, "from 0 to 1; 0 keeps all tokens"),
        )
        for name, is_right, allowed in checks:
            value = getattr(self, name)
            if not is_right or not math.isfinite(value):
                raise ConfigError(f"{name} ({value}) must be {allowed}")


GREEDY = Sampling(temperature=0.0)


def next_log_probs(
    logits: Float[Tensor, " vocab"], before: Sequence[int], sampling: Sampling
) -> Float[Tensor, " vocab"]:
    """Return the log-probabilities, in nats, that the next token is drawn from.

    Args:
        logits: what the model says of the next token; -inf for what it never writes.
        before: the tokens so far, for the repetition penalty.
        sampling: how.

    Returns:
        -inf for what was filtered out; the probabilities of the rest sum to 1. At temperature 0 one token has them all.

    Source: Holtzman et al. 2020, sec. 3.1 (nucleus) and sec. 4.1 (top-k, temperature); Nguyen et al. 2024 (min-p);
    Keskar et al. 2019, sec. 4.1 (repetition penalty).
    Differs: the penalty multiplies negative logits, as in common practice; the paper divides them too, which rewards.
    """
    scores = _penalized(logits.float(), before, sampling.repetition_penalty)
    if sampling.temperature == 0:
        only = torch.full_like(scores, -math.inf)
        only[scores.argmax()] = 0.0
        return only
    scores = scores / sampling.temperature
    if 0 < sampling.top_k < len(scores):
        scores = scores.masked_fill(scores < scores.topk(sampling.top_k).values[-1], -math.inf)
    if sampling.top_p < 1:
        ordered, tokens = scores.softmax(dim=-1).sort(stable=True)  # the least probable first
        too_many = ordered.cumsum(dim=-1) <= 1 - sampling.top_p
        too_many[-1] = False
        scores = scores.index_fill(0, tokens[too_many], -math.inf)
    if sampling.min_p > 0:
        probs = scores.softmax(dim=-1)
        scores = scores.masked_fill(probs < sampling.min_p * probs.max(), -math.inf)
    return scores.log_softmax(dim=-1)


def draw(log_probs: Float[Tensor, " vocab"], *, seed: int, position: int) -> int:
    """Return a token drawn from a distribution, the same for the same seed and position.

    Args:
        log_probs: nats, from `next_log_probs`.
        seed: of the text.
        position: of the token that is drawn; each has a draw of its own, whatever was drawn before.
    """
    probs, tokens = log_probs.double().exp().sort(descending=True, stable=True)
    below = probs.cumsum(dim=-1)
    share = random.Random(f"{seed} {position}").random() * float(below[-1])
    place = int(torch.searchsorted(below, share, right=True))
    return int(tokens[min(place, int((probs > 0).sum()) - 1)])


def _penalized(scores: Float[Tensor, " vocab"], before: Sequence[int], penalty: float) -> Float[Tensor, " vocab"]:
    if penalty == 1 or not before:
        return scores
    seen = torch.tensor(sorted(set(before)), device=scores.device)
    of_seen = scores[seen]
    return scores.index_copy(0, seen, torch.where(of_seen < 0, of_seen * penalty, of_seen / penalty))
