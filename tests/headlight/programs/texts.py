"""Texts for the induction circuit, and what it loses on them."""

import numpy as np
import torch
from torch import Tensor

N_RANDOM, VOCAB_SIZE, N_TEXTS = 10, 12, 200
PREDICTED = slice(N_RANDOM + 1, 2 * N_RANDOM)
"""Positions from which the next token can be known: the second copy, but for its last token, which nothing follows."""


def repeated_texts() -> Tensor:
    """<bos> s s for 200 random s without a token twice, [200, 21]."""
    rng = np.random.default_rng(0)
    halves = [rng.permutation(np.arange(1, VOCAB_SIZE))[:N_RANDOM] for _ in range(N_TEXTS)]
    return torch.tensor(np.array([[0, *half, *half] for half in halves]))


def loss(logits: Tensor, texts: Tensor) -> float:
    """Mean negative log-probability of the tokens that can be known, in nats."""
    log_probs = logits.detach().double().log_softmax(dim=-1)[:, PREDICTED]
    following = texts[:, PREDICTED.start + 1 : PREDICTED.stop + 1, None]
    return -float(log_probs.gather(-1, following).mean())
