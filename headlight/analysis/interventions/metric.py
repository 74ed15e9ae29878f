"""What is measured at one place of an output: a logit difference, or the log-probability of one token."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_core.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Metric:
    """The main metric of an intervention, in nats; larger means more of `token`.

    With `other`: logit(token) - logit(other), which is log p(token) - log p(other). It moves linearly with what is
    written into the residual stream, up to the last normalization, and sees what lowers both tokens as no effect.
    Without: log p(token).

    Source: Zhang and Nanda 2024, "Towards best practices of activation patching", sec. 4, for the choice.
    """

    position: int  # among the tokens of the decoder's input, or of an encoder's text
    token: int
    other: int | None = None  # None: the log-probability of `token` alone

    def __post_init__(self) -> None:
        """Check the numbers."""
        if self.position < 0 or self.token < 0 or (self.other is not None and self.other < 0):
            raise ConfigError("positions and token ids are whole numbers from 0 on; got {metric}", metric=self)
        if self.token == self.other:
            raise ConfigError(
                "a logit difference needs two different tokens; got token {token} twice", token=self.token
            )

    def of(self, row: Float[Tensor, " vocab"]) -> float:
        """Return the metric of logits, or of log-probabilities, at the position."""
        return float(self.of_tensor(row))

    def of_tensor(self, row: Float[Tensor, " vocab"]) -> Float[Tensor, ""]:
        """Return the metric as a tensor, for gradients."""
        if self.other is None:
            return row.log_softmax(dim=-1)[self.token]
        return row[self.token] - row[self.other]


def ranks(log_probs: Float[Tensor, "*when token vocab"], tokens: Sequence[int]) -> Int[np.ndarray, "*when token"]:
    """Return how many tokens are more probable than each of some; 0: it is the most probable.

    Args:
        log_probs: or logits.
        tokens: one for each place.
    """
    ids = torch.tensor(tokens, dtype=torch.long, device=log_probs.device)[:, None]
    chosen = log_probs.gather(-1, ids.expand(*log_probs.shape[:-1], 1))
    return (log_probs > chosen).sum(dim=-1).cpu().numpy()
