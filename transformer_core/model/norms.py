"""Layer normalization."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_core.hooks import HookPoint


class LayerNorm(nn.Module):
    """(x - mean) / sqrt(variance + eps) * weight + bias, over the last axis, with the biased variance.

    Source: Ba et al. 2016, eq. (3) and (4); used in Vaswani et al. 2017, sec. 3.1.
    """

    def __init__(self, d_model: int, eps: float) -> None:
        """Start as plain normalization: weight 1, bias 0."""
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.hook_normalized = HookPoint()

    def forward(self, x: Float[Tensor, "batch pos d_model"]) -> Float[Tensor, "batch pos d_model"]:
        """Return the normalized, scaled and shifted vectors."""
        normalized = F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)
        return self.hook_normalized(normalized)
