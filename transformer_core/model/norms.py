"""Normalization of vectors, over their last axis."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_core.config import ModelConfig
from transformer_core.hooks import HookPoint


class LayerNorm(nn.Module):
    """(x - mean) / sqrt(variance + eps) * weight + bias, with the biased variance.

    Source: Ba et al. 2016, eq. (3) and (4); used in Vaswani et al. 2017, sec. 3.1.
    """

    def __init__(self, width: int, eps: float, *, has_bias: bool = True) -> None:
        """Start as plain normalization: weight 1, bias 0."""
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width)) if has_bias else None
        self.hook_normalized = HookPoint()

    def forward(self, x: Float[Tensor, "*axes width"]) -> Float[Tensor, "*axes width"]:
        """Return the normalized, scaled and shifted vectors."""
        return self.hook_normalized(F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps))


class RMSNorm(nn.Module):
    """x / sqrt(mean(x^2) + eps) * weight.

    Source: Zhang and Sennrich 2019, eq. (4).
    """

    def __init__(self, width: int, eps: float) -> None:
        """Start as plain normalization: weight 1."""
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width))
        self.hook_normalized = HookPoint()

    def forward(self, x: Float[Tensor, "*axes width"]) -> Float[Tensor, "*axes width"]:
        """Return the normalized and scaled vectors."""
        return self.hook_normalized(F.rms_norm(x, self.weight.shape, self.weight.to(x.dtype), self.eps))


class NoNorm(nn.Module):
    """The identity, in models without normalization."""

    def __init__(self) -> None:
        super().__init__()
        self.hook_normalized = HookPoint()

    def forward(self, x: Float[Tensor, "*axes width"]) -> Float[Tensor, "*axes width"]:
        """Return `x`."""
        return self.hook_normalized(x)


def build_norm(config: ModelConfig, width: int) -> LayerNorm | RMSNorm | NoNorm:
    """Return the configured normalization for vectors of the given width."""
    if config.norm == "none":
        return NoNorm()
    if config.norm == "rms":
        return RMSNorm(width, config.layer_norm_eps)
    return LayerNorm(width, config.layer_norm_eps, has_bias=config.norm == "layer")
