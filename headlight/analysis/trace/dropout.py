"""Dropout as a step of a forward pass: at which rates a model has it, and what it makes of an activation in training.

At inference it is the identity, so no activation shows it. Only `keep_mask` needs torch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np
from jaxtyping import Float

from transformer_core.config import ModelConfig

if TYPE_CHECKING:
    import torch

PAPER_RATE = 0.1  # of the base model (Vaswani et al. 2017, table 3)


@dataclass(frozen=True, kw_only=True)
class DropoutRates:
    """The probabilities with which a number is dropped."""

    outputs: float  # of sub-layers' outputs, and of the sum of the embeddings
    pattern: float  # of attention patterns, after the softmax
    is_own: bool  # False: the model has no dropout, and these are the paper's rate

    def after(self, quantity: str) -> float:
        """Return the rate after "pattern", "attn_out" or "mlp_out"; 0 after any other quantity."""
        return {"pattern": self.pattern, "attn_out": self.outputs, "mlp_out": self.outputs}.get(quantity, 0.0)


def rates_of(config: ModelConfig) -> DropoutRates:
    """Return the rates of a model; if it has no dropout, the paper's.

    Source: Vaswani et al. 2017, sec. 5.4; on the pattern as in their code, tensor2tensor.
    """
    if config.dropout or config.dropout_pattern:
        return DropoutRates(outputs=config.dropout, pattern=config.dropout_pattern, is_own=True)
    return DropoutRates(outputs=PAPER_RATE, pattern=PAPER_RATE, is_own=False)


def keep_mask(shape: Sequence[int], probability: float, generator: "torch.Generator") -> "Float[torch.Tensor, '*axes']":
    """Return the factors of `nn.Dropout` in training on a CPU: 0 where a number is dropped, else 1 / (1 - p).

    Args:
        shape: of the activation.
        probability: p in [0, 1).
        generator: whose random numbers are used.

    Source: Srivastava et al. 2014.
    """
    import torch  # which drawing does not need

    return torch.empty(shape).bernoulli_(1 - probability, generator=generator).div_(1 - probability)


def seed_at(site: str, seed: int) -> int:
    """Return the seed of the mask at a hook point; each has its own, and the same one wherever it is shown."""
    return crc32(f"{seed} {site}".encode())


def drop(values: Float[np.ndarray, "*axes"], *, site: str, rate: float, seed: int) -> Float[np.ndarray, "*axes"]:
    """Return an activation after dropout as in training.

    Args:
        values: at a hook point, without the batch axis; of all heads, where there are heads.
        site: the hook point.
        rate: the probability that a number becomes 0; the others are multiplied by 1 / (1 - rate).
        seed: of the random numbers.
    """
    import torch  # which drawing does not need

    mask = keep_mask(values.shape, rate, torch.Generator().manual_seed(seed_at(site, seed)))
    return values * mask.numpy().astype(values.dtype)
