"""Tokens to vectors."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_core.config import ModelConfig
from transformer_core.errors import TextError


def check_tokens(tokens: object) -> None:
    """Check type and shape of tokens, but not the ids themselves.

    Raises:
        TextError: not an integer tensor [batch, pos] with at least one row.
    """
    if isinstance(tokens, Tensor):
        if tokens.ndim == 2 and tokens.dtype in (torch.int64, torch.int32) and tokens.shape[0]:
            return
        got = f"{str(tokens.dtype).removeprefix('torch.')} {[*tokens.shape]}"
    else:
        got = type(tokens).__name__
    raise TextError(
        "the model takes token ids as a tensor of whole numbers [batch, pos], such as torch.tensor([[5, 6, 7]]); got "
        "{got}",
        got=got,
    )


def check_ids(tokens: Int[Tensor, "batch pos"], vocab_size: int) -> None:
    """Check that all tokens are in the vocabulary; on an accelerator this synchronizes.

    Raises:
        TextError: one of them is not.
    """
    is_unknown = (tokens < 0) | (tokens >= vocab_size)
    if is_unknown.any():
        raise TextError(
            "token id {i} is not in the vocabulary; ids go from 0 to {last}",
            i=int(tokens[is_unknown][0]),
            last=vocab_size - 1,
        )


class TokenEmbedding(nn.Module):
    """One vector per token, multiplied by sqrt(d_model) if configured.

    Source: Vaswani et al. 2017, sec. 3.4.
    """

    def __init__(self, config: ModelConfig, *, vocab_size: int) -> None:
        """Take the number of tokens from `vocab_size`: the source may have its own vocabulary."""
        super().__init__()
        self.scale = math.sqrt(config.d_model) if config.scale_embeddings else 1.0
        self.weight = nn.Parameter(torch.empty(vocab_size, config.embedding_width))

    def forward(self, tokens: Int[Tensor, "batch pos"]) -> Float[Tensor, "batch pos d_embed"]:
        """Return the embeddings, scaled.

        Raises:
            TextError: a token that is not in the vocabulary. On an accelerator torch raises instead: checking the
                tokens first would synchronize in each forward pass.
        """
        try:
            embedded = F.embedding(tokens, self.weight)
        except IndexError:
            check_ids(tokens, self.weight.shape[0])
            raise
        return embedded if self.scale == 1.0 else embedded * self.scale


class SegmentEmbedding(nn.Module):
    """One vector per segment type: which of two sentences a token belongs to.

    Source: Devlin et al. 2019, sec. 3 and figure 2.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(config.n_segments, config.embedding_width))

    def forward(self, segments: Int[Tensor, "batch pos"]) -> Float[Tensor, "batch pos d_embed"]:
        """Return each position's segment vector."""
        return F.embedding(segments, self.weight)
