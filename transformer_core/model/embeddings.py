"""Tokens to vectors."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_core.config import ModelConfig


class TokenEmbedding(nn.Module):
    """A vector a token, multiplied by sqrt(d_model).

    Source: Vaswani et al. 2017, sec. 3.4.
    """

    def __init__(self, config: ModelConfig) -> None:
        """Make one vector for each token of the vocabulary."""
        super().__init__()
        self.scale = math.sqrt(config.d_model)
        self.weight = nn.Parameter(torch.empty(config.vocab_size, config.d_model))

    def forward(self, tokens: Int[Tensor, "batch pos"]) -> Float[Tensor, "batch pos d_model"]:
        """Return the scaled embeddings."""
        return F.embedding(tokens, self.weight) * self.scale
