"""A stack of blocks over embedded tokens: the left, or the right, side of the paper's figure 1."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_core.config import ModelConfig
from transformer_core.errors import TextError
from transformer_core.hooks import HookPoint
from transformer_core.model.attention import Mask, MemoryMask
from transformer_core.model.block import Block, BlockStore
from transformer_core.model.dropout import Dropout
from transformer_core.model.embeddings import TokenEmbedding
from transformer_core.model.norms import LayerNorm
from transformer_core.model.positions import build_positions


@runtime_checkable
class StackStore(Protocol):
    """The keys and values that a stack keeps while decoding."""

    @property
    def n_positions(self) -> int:
        """Positions that are stored already."""
        ...

    @property
    def blocks(self) -> Sequence[BlockStore]:
        """One store a block."""
        ...


class Stack(nn.Module):
    """Embedding + positions, then N blocks; in pre-norm a last normalization.

    Source: Vaswani et al. 2017, sec. 3.1, 3.4 and 3.5.
    """

    def __init__(self, config: ModelConfig, *, n_layers: int, has_cross_attention: bool = False) -> None:
        """Build the parts that the configuration names."""
        super().__init__()
        self.max_seq_len = config.max_seq_len
        self.embed = TokenEmbedding(config)
        self.hook_embed = HookPoint()
        self.pos_embed = build_positions(config)
        self.hook_pos_embed = HookPoint()
        self.dropout = Dropout(config.dropout)
        self.blocks = nn.ModuleList(Block(config, has_cross_attention=has_cross_attention) for _ in range(n_layers))
        is_pre_norm = config.norm_position == "pre"
        self.ln_final = LayerNorm(config.d_model, config.layer_norm_eps) if is_pre_norm else None

    def forward(
        self,
        tokens: Int[Tensor, "batch pos"],
        mask: Mask | None,
        memory: Float[Tensor, "batch src d_model"] | None = None,
        memory_mask: MemoryMask | None = None,
        store: StackStore | None = None,
    ) -> Float[Tensor, "batch pos d_model"]:
        """Return the final states.

        Args:
            tokens: with a store, only those that come after the stored ones.
            mask: for self-attention, True = may attend.
            memory: the encoder's output, for a stack with cross-attention.
            memory_mask: for cross-attention.
            store: keeps keys and values while decoding.

        Raises:
            TextError: no token, or more positions than the model has.
        """
        batch, n_positions = tokens.shape
        first = 0 if store is None else store.n_positions
        if n_positions == 0:
            raise TextError("there is no token to read; give at least one")
        if first + n_positions > self.max_seq_len:
            raise TextError(
                f"{first + n_positions:,} tokens are more than the {self.max_seq_len:,} that this model takes; "
                "shorten the text"
            )
        embedded = self.hook_embed(self.embed(tokens))
        positions = self.pos_embed(first, n_positions).repeat(batch, 1, 1)  # a copy: who looks may write on it
        x = self.dropout(embedded + self.hook_pos_embed(positions))
        for i, block in enumerate(self.blocks):
            x = block(x, mask, memory, memory_mask, None if store is None else store.blocks[i])
        return x if self.ln_final is None else self.ln_final(x)
