"""One layer of a stack: self-attention, cross-attention where there is a memory to look at, feed-forward."""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor, nn

from transformer_core.config import ModelConfig
from transformer_core.hooks import HookPoint
from transformer_core.model.attention import KeyValueStore, Mask, MemoryMask, MultiHeadAttention
from transformer_core.model.feed_forward import FeedForward
from transformer_core.model.norms import LayerNorm

Residual = Float[Tensor, "batch pos d_model"]


@runtime_checkable
class BlockStore(Protocol):
    """The keys and values that one block keeps while decoding."""

    @property
    def self_attn(self) -> KeyValueStore:
        """Those of the target positions, growing."""
        ...

    @property
    def cross_attn(self) -> KeyValueStore:
        """Those of the memory, fixed."""
        ...


class Block(nn.Module):
    """Sub-layers, each in a residual connection with layer normalization.

    Source: Vaswani et al. 2017, sec. 3.1 and figure 1.
    """

    def __init__(self, config: ModelConfig, *, has_cross_attention: bool) -> None:
        """Build the sub-layers; a decoder's block has cross-attention between the other two."""
        super().__init__()
        self.is_pre_norm = config.norm_position == "pre"
        self.has_cross_attention = has_cross_attention
        self.hook_resid_pre = HookPoint()
        self.self_attn = MultiHeadAttention(config)
        self.hook_resid_mid = HookPoint()
        self.ln1 = LayerNorm(config.d_model, config.layer_norm_eps)
        if has_cross_attention:
            self.cross_attn = MultiHeadAttention(config)
            self.hook_resid_mid_cross = HookPoint()
            self.ln_cross = LayerNorm(config.d_model, config.layer_norm_eps)
        self.mlp = FeedForward(config)
        self.hook_mlp_out = HookPoint()
        self.hook_resid_post = HookPoint()
        self.ln2 = LayerNorm(config.d_model, config.layer_norm_eps)

    def forward(
        self,
        x: Residual,
        mask: Mask | None,
        memory: Float[Tensor, "batch src d_model"] | None = None,
        memory_mask: MemoryMask | None = None,
        store: BlockStore | None = None,
    ) -> Residual:
        """Return the residual stream after this block.

        Args:
            x: the residual stream.
            mask: for self-attention, True = may attend.
            memory: the encoder's output, which cross-attention looks at.
            memory_mask: for cross-attention.
            store: keeps keys and values while decoding.
        """
        x = self.hook_resid_pre(x)
        self_store = None if store is None else store.self_attn
        x = self._add(x, lambda h: self.self_attn(h, h, mask, self_store), self.ln1, self.hook_resid_mid)
        if self.has_cross_attention:
            assert memory is not None, "a block with cross-attention needs the encoder's output"
            cross_store = None if store is None else store.cross_attn
            x = self._add(
                x,
                lambda h: self.cross_attn(h, memory, memory_mask, cross_store),
                self.ln_cross,
                self.hook_resid_mid_cross,
            )
        return self._add(x, lambda h: self.hook_mlp_out(self.mlp(h)), self.ln2, self.hook_resid_post)

    def _add(self, x: Tensor, sublayer: Callable[[Tensor], Tensor], norm: LayerNorm, resid: HookPoint) -> Tensor:
        """Post-norm, as in the paper: LayerNorm(x + Sublayer(x)). Pre-norm: x + Sublayer(LayerNorm(x)).

        Differs: pre-norm (Xiong et al. 2020) where the configuration asks for it.
        """
        if self.is_pre_norm:
            return resid(x + sublayer(norm(x)))
        return norm(resid(x + sublayer(x)))
