"""Sampling: which tokens may come next, how probable each is then, and the one that is drawn."""

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
    """Return the log-probabilities, in nats, that the next token is drawn from.

    Args:
        logits: what the model says of the next token; -inf for what it never writes.
        before: the tokens so far, for the repetition penalty.
        sampling: how.

    Returns:
        -inf for what was filtered out; the probabilities of the rest sum to 1. At temperature 0 one token has it all.

    Source: Holtzman et al. 2020, sec. 3.1 (nucleus), 3.2 (top-k) and 3.3 (temperature); Nguyen et al. 2024 (min-p);
    Keskar et al. 2019, sec. 4.1 (repetition penalty).
    Differs: the penalty multiplies negative logits, as in common practice; the paper divides them too, which rewards.
    Of tokens that are as probable as the last one that stays in the top k, all stay.
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

    Tokens lie side by side on a line, the most probable first, each as long as it is probable; a share of that line is
    drawn, and the token that lies there is taken. So a filter that drops improbable ones often leaves the draw alone.

    Args:
        log_probs: nats, from `next_log_probs`.
        seed: of the text.
        position: of the token that is drawn; each has a draw of its own, whatever was drawn before.
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
