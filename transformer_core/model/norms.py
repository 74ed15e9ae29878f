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


class HeadNorm(nn.Module):
    """Normalization of queries or keys, with separate gains for each head.

    Each head is normalized alone, or all heads together as one vector.

    Source: OLMo et al. 2025, sec. 2.1, for the latter.
    """

    def __init__(self, config: ModelConfig, n_heads: int) -> None:
        """Start as plain normalization: weight 1, bias 0."""
        super().__init__()
        self.eps, self.is_rms = config.layer_norm_eps, config.norm == "rms"
        self.is_joint = config.qk_norm_scope == "joint"
        self.weight = nn.Parameter(torch.ones(n_heads * config.d_head))
        self.bias = nn.Parameter(torch.zeros(n_heads * config.d_head)) if config.norm == "layer" else None
        self.hook_normalized = HookPoint()

    def forward(self, x: Float[Tensor, "batch head pos d_head"]) -> Float[Tensor, "batch head pos d_head"]:
        """Return the normalized, scaled and shifted vectors."""
        x = x.transpose(1, 2)  # [batch, pos, head, d_head]
        together = x.shape[2:] if self.is_joint else x.shape[3:]
        normalized = F.rms_norm(x, together, eps=self.eps) if self.is_rms else F.layer_norm(x, together, eps=self.eps)
        scaled = normalized * self.weight.to(normalized.dtype).view(x.shape[2:])
        shifted = scaled if self.bias is None else scaled + self.bias.to(scaled.dtype).view(x.shape[2:])
        return self.hook_normalized(shifted.transpose(1, 2))


class NoNorm(nn.Module):
    """The identity, where a model does not normalize."""

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


def build_qk_norm(config: ModelConfig, n_heads: int) -> nn.Module | None:
    """Return the configured normalization of queries, or of keys, of all heads; None if there is none."""
    if not config.qk_norm:
        return None
    return build_norm(config, config.d_head) if config.qk_norm_scope == "shared" else HeadNorm(config, n_heads)
