"""One layer of a stack: self-attention, cross-attention if there is a memory, feed-forward."""

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor, nn

from transformer_core.config import ModelConfig
from transformer_core.hooks import HookPoint
from transformer_core.model.attention import MultiHeadAttention
from transformer_core.model.distance_bias import PositionBias
from transformer_core.model.feed_forward import FeedForward
from transformer_core.model.norms import NoNorm, build_norm
from transformer_core.model.rotary import Rotation
from transformer_core.model.sdpa import Mask, MemoryMask
from transformer_core.model.stores import BlockStore

Residual = Float[Tensor, "batch pos d_model"]


class Block(nn.Module):
    """Sub-layers, each in a residual connection with normalization.

    Source: Vaswani et al. 2017, sec. 3.1 and figure 1.
    Differs: no feed-forward network if d_ff is 0 (Elhage et al. 2021, "attention-only"); with `parallel_residual` it
    reads the attention's input, x + Attn(LN1(x)) + FFN(LN2(x)) (Wang and Komatsuzaki 2021), and `hook_resid_mid` is
    the sum to which its output is added.
    """

    def __init__(self, config: ModelConfig, *, has_cross_attention: bool, is_first: bool = False) -> None:
        super().__init__()
        self.is_pre_norm, self.is_parallel = config.norm_position == "pre", config.parallel_residual
        self.has_cross_attention, self.has_feed_forward = has_cross_attention, config.d_ff > 0
        self.hook_resid_pre = HookPoint()
        self.self_attn = MultiHeadAttention(config)
        if has_cross_attention or self.has_feed_forward:
            self.hook_resid_mid = HookPoint()
        self.ln1 = NoNorm() if is_first and not config.first_norm else _input_norm(config)
        if has_cross_attention:
            self.cross_attn = MultiHeadAttention(config)
            if self.has_feed_forward:
                self.hook_resid_mid_cross = HookPoint()
            self.ln_cross = _input_norm(config)
        if self.has_feed_forward:
            self.mlp = FeedForward(config)
            self.hook_mlp_out = HookPoint()
            self.ln2 = _input_norm(config)
        self.hook_resid_post = HookPoint()

    def forward(
        self,
        x: Residual,
        mask: Mask | None,
        memory: Float[Tensor, "batch src d_model"] | None = None,
        memory_mask: MemoryMask | None = None,
        store: BlockStore | None = None,
        *,
        rotation: Rotation | None = None,
        bias: PositionBias | None = None,
    ) -> Residual:
        """Return the residual stream after this block.

        Args:
            x: the residual stream.
            mask: for self-attention, True = may attend.
            memory: the encoder's output, for cross-attention.
            memory_mask: for cross-attention.
            store: caches keys and values while decoding.
            rotation: of self-attention's queries and keys (RoPE).
            bias: added to self-attention's scores.
        """
        self_store, cross_store = (None, None) if store is None else (store.self_attn, store.cross_attn)

        def attend_to_itself(h: Tensor) -> Tensor:
            return self.self_attn(h, h, mask, self_store, rotation=rotation, bias=bias)

        def attend_to_memory(h: Tensor) -> Tensor:
            return self.cross_attn(h, memory, memory_mask, cross_store)

        def feed_forward(h: Tensor) -> Tensor:
            return self.hook_mlp_out(self.mlp(h))

        x = resid_pre = self.hook_resid_pre(x)
        last = self.hook_resid_post
        is_last = not (self.has_cross_attention or self.has_feed_forward)
        x = self._add(x, attend_to_itself, self.ln1, last if is_last else self.hook_resid_mid)
        if self.has_cross_attention:
            assert memory is not None, "a block with cross-attention needs the encoder's output"
            is_last = not self.has_feed_forward
            x = self._add(x, attend_to_memory, self.ln_cross, last if is_last else self.hook_resid_mid_cross)
        if self.is_parallel:
            return last(x + feed_forward(self.ln2(resid_pre)))
        return self._add(x, feed_forward, self.ln2, last) if self.has_feed_forward else x

    def _add(self, x: Tensor, sublayer: Callable[[Tensor], Tensor], norm: nn.Module, resid: HookPoint) -> Tensor:
        """Post-norm, as in the paper: LayerNorm(x + Sublayer(x)). Pre-norm: x + Sublayer(LayerNorm(x)).

        Differs: pre-norm if configured (Xiong et al. 2020).
        """
        if self.is_pre_norm:
            return resid(x + sublayer(norm(x)))
        return norm(resid(x + sublayer(x)))


def _input_norm(config: ModelConfig) -> nn.Module:
    return build_norm(config, config.d_model) if config.input_norm else NoNorm()
