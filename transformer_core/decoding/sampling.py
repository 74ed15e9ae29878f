"""Sampling: filtering the distribution of the next token, and drawing from it."""

import math
import random
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_core.decoding.settings import Sampling


def next_log_probs(
    logits: Float[Tensor, " vocab"], before: Sequence[int], sampling: Sampling
) -> Float[Tensor, " vocab"]:
    """Return the filtered and normalized log-probabilities of the next token, in nats.

    Args:
        logits: of the next token; -inf for suppressed tokens.
        before: the tokens so far, for the repetition penalty.
        sampling: the settings.

    Returns:
        -inf for filtered tokens; the other probabilities sum to 1. At temperature 0, one token has probability 1.

    Source: Holtzman et al. 2020, sec. 3.1 (nucleus), 3.2 (top-k) and 3.3 (temperature); Nguyen et al. 2024 (min-p);
    Keskar et al. 2019, sec. 4.1 (repetition penalty).
    Differs: the penalty multiplies negative logits, as is common practice; the paper divides them, which would reward
    repetition. Top-k keeps all ties with the last token.
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
    """Return a token drawn from `next_log_probs`; the draw depends only on the seed and the token's position.

    It inverts the cumulative distribution with the most probable token first, so a filter that drops improbable tokens
    often leaves the draw unchanged.
    """
    probs, tokens = log_probs.double().exp().sort(descending=True, stable=True)
    up_to = probs.cumsum(dim=-1)
    share = random.Random(f"{seed} {position}").random() * float(up_to[-1])
    place = int(torch.searchsorted(up_to, share, right=True))
    return int(tokens[min(place, int((probs > 0).sum()) - 1)])


def _penalized(scores: Float[Tensor, " vocab"], before: Sequence[int], penalty: float) -> Float[Tensor, " vocab"]:
    if penalty == 1 or not before:
        return scores
    seen = torch.tensor(sorted(set(before)), device=scores.device)
    of_seen = scores[seen]
    return scores.index_copy(0, seen, torch.where(of_seen < 0, of_seen * penalty, of_seen / penalty))
