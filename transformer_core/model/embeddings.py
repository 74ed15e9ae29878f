"""Tokens to vectors."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_core.config import ModelConfig


class TokenEmbedding(nn.Module):
    """A vector a token, multiplied by sqrt(d_model) where the configuration says so.

    Source: Vaswani et al. 2017, sec. 3.4.
    """

    def __init__(self, config: ModelConfig) -> None:
        """Make one vector for each token of the vocabulary."""
        super().__init__()
        self.scale = math.sqrt(config.d_model) if config.scale_embeddings else 1.0
        self.weight = nn.Parameter(torch.empty(config.vocab_size, config.d_model))

    def forward(self, tokens: Int[Tensor, "batch pos"]) -> Float[Tensor, "batch pos d_model"]:
        """Return the embeddings, scaled."""
        embedded = F.embedding(tokens, self.weight)
        return embedded if self.scale == 1.0 else embedded * self.scale


class SegmentEmbedding(nn.Module):
    """A vector a kind of segment: which of two sentences a token belongs to.

    Source: Devlin et al. 2019, sec. 3 and figure 2.
    """

    def __init__(self, config: ModelConfig) -> None:
        """Make one vector for each kind of segment."""
        super().__init__()
        self.weight = nn.Parameter(torch.empty(config.n_segments, config.d_model))

    def forward(self, segments: Int[Tensor, "batch pos"]) -> Float[Tensor, "batch pos d_model"]:
        """Return each position's segment vector."""
        return F.embedding(segments, self.weight)
