"""The decoder's step for one new token a row, as one function: the sums of the modules, in as few calls as they need.

A small model's step is a hundred small products, and most of its time goes into getting from one module to the next. So
where nobody is looking, the step is made once of the modules' weights and run as it is; watched, or on several devices,
the modules do it. The tests hold both to the same numbers, for every part that a configuration can choose.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_core.decoding.cache import FixedStore, GrowingStore, KeyValueCache
from transformer_core.hooks import is_anybody_looking
from transformer_core.model.attention import MultiHeadAttention
from transformer_core.model.block import Block
from transformer_core.model.feed_forward import FeedForward
from transformer_core.model.norms import LayerNorm, RMSNorm
from transformer_core.model.rotary import Rotation
from transformer_core.model.stack import Stack
from transformer_core.model.transformer import Transformer

attend = torch.nn.functional.scaled_dot_product_attention
Step = Callable[[Tensor], Tensor]  # [row, width] -> [row, width]

_SMALL = 1 << 20  # weights, of the projections of a layer: their copy costs less than the calls that it saves


@dataclass
class _Moment:
    """Where the writing stands: what all layers of one step share."""

    place: int = 0  # position of the new token
    first_key: int = 0  # of the sliding window
    rotation: Rotation | None = None
    bias: Float[Tensor, "1 head 1 key"] | None = None  # of the positions, for the keys from `first_key` on


class QuickStep:
    """A decoder at the step of one token a row, with its modules' weights and the stores of a cache."""

    def __init__(
        self, model: Transformer, cache: KeyValueCache, memory_mask: Float[Tensor, "row 1 1 src"] | None
    ) -> None:
        """Make the step; the cache must have been filled by the model with at least one position.

        Args:
            model: in evaluation mode, with a decoder.
            cache: read and written by the step.
            memory_mask: 0 where the source may be looked at, else -inf; None where all of it may be, or there is none.
        """
        assert model.decoder is not None, "only a decoder writes"
        self.config, self.stack, self.cache = model.config, model.decoder, cache
        self.moment = _Moment()
        self.blocks = [
            _block_step(block, stores.self_attn, stores.cross_attn, memory_mask, self.moment)
            for block, stores in zip(_blocks(self.stack), cache.blocks, strict=True)
        ]
        self.ln_final = None if self.stack.ln_final is None else _norm_step(self.stack.ln_final)
        self.unembed = _linear_step(model.unembed)

    def logits(self, tokens: Int[Tensor, " row"]) -> Float[Tensor, "row vocab"]:
        """Read one more token of each row, and return the logits of what follows."""
        moment, stack, place = self.moment, self.stack, self.cache.n_positions
        window = self.config.sliding_window
        moment.place, moment.first_key = place, 0 if window is None else max(0, place - window + 1)
        if stack.rotary is not None:
            moment.rotation = stack.rotary(place, 1, tokens.device)
        if stack.position_bias is not None:
            key = torch.arange(moment.first_key, place + 1, device=tokens.device)
            moment.bias = stack.position_bias((key - place)[None])[None].to(stack.embed.weight.dtype)
        x = stack.embed(tokens[:, None])[:, 0]
        if stack.pos_embed is not None:
            x = x + stack.pos_embed(place, 1)
        if stack.embedding_norm is not None:
            x = stack.embedding_norm(x)
        for block in self.blocks:
            x = block(x)
        if self.ln_final is not None:
            x = self.ln_final(x)
        return self.unembed(x * self.config.d_model**-0.5 if self.config.scale_logits else x)


def can_be_quick(model: Transformer) -> bool:
    """Return whether nobody looks, nothing is dropped, and all weights lie together."""
    devices = {parameter.device for parameter in model.parameters()}
    return not is_anybody_looking() and not model.training and len(devices) == 1 and devices != {torch.device("meta")}


def _blocks(stack: Stack) -> list[Block]:
    """Return the blocks, as what they are."""
    return [block for block in stack.blocks if isinstance(block, Block)]


def _block_step(
    block: Block, self_store: GrowingStore, cross_store: FixedStore, memory_mask: Tensor | None, moment: _Moment
) -> Step:
    """Return the block's sub-layers, each in its residual connection."""
    sublayers = [(_self_attention_step(block.self_attn, self_store, moment), _norm_step(block.ln1))]
    if block.has_cross_attention:
        sublayers.append(
            (_cross_attention_step(block.cross_attn, cross_store, memory_mask), _norm_step(block.ln_cross))
        )
    if block.has_feed_forward:
        sublayers.append((_feed_forward_step(block.mlp), _norm_step(block.ln2)))

    def pre_norm(x: Tensor) -> Tensor:
        for sublayer, norm in sublayers:
            x = x + sublayer(norm(x))
        return x

    def post_norm(x: Tensor) -> Tensor:
        for sublayer, norm in sublayers:
            x = norm(x + sublayer(x))
        return x

    return pre_norm if block.is_pre_norm else post_norm


def _self_attention_step(attention: MultiHeadAttention, store: GrowingStore, moment: _Moment) -> Step:
    project, to_out = _side_by_side(attention.q, attention.k, attention.v), _linear_step(attention.out)
    q_norm = None if attention.q_norm is None else _norm_step(attention.q_norm)
    k_norm = None if attention.k_norm is None else _norm_step(attention.k_norm)
    n_heads, n_kv_heads, d_head, scale = attention.n_heads, attention.n_kv_heads, attention.d_head, attention.scale

    def step(x: Tensor) -> Tensor:
        n_rows = x.shape[0]
        q, k_v = (
            project(x).view(n_rows, -1, 1, d_head).split((n_heads, 2 * n_kv_heads), dim=1)
        )  # [row, head, 1, d_head]
        if q_norm is not None and k_norm is not None:
            k, v = k_v.chunk(2, dim=1)
            q, k_v = q_norm(q), torch.cat([k_norm(k), v], dim=1)
        if moment.rotation is not None:
            k, v = k_v.chunk(2, dim=1)
            q, k_v = moment.rotation.turn(q), torch.cat([moment.rotation.turn(k), v], dim=1)
        keys, values = store.add(k_v)
        if moment.first_key:
            keys, values = keys[:, :, moment.first_key :], values[:, :, moment.first_key :]
        z = attend(q, keys, values, attn_mask=moment.bias, scale=scale, enable_gqa=n_kv_heads != n_heads)
        return to_out(z.view(n_rows, n_heads * d_head))

    return step


def _cross_attention_step(attention: MultiHeadAttention, store: FixedStore, memory_mask: Tensor | None) -> Step:
    to_q, to_out = _linear_step(attention.q), _linear_step(attention.out)
    q_norm = None if attention.q_norm is None else _norm_step(attention.q_norm)
    n_heads, d_head, scale = attention.n_heads, attention.d_head, attention.scale
    is_grouped = attention.n_kv_heads != n_heads

    def step(x: Tensor) -> Tensor:
        n_rows = x.shape[0]
        q = to_q(x).view(n_rows, n_heads, 1, d_head)
        q = q if q_norm is None else q_norm(q)
        keys, values = store.kept()
        z = attend(q, keys, values, attn_mask=memory_mask, scale=scale, enable_gqa=is_grouped)
        return to_out(z.view(n_rows, n_heads * d_head))

    return step


def _feed_forward_step(mlp: FeedForward) -> Step:
    up, down, activation = _linear_step(mlp.up), _linear_step(mlp.down), mlp.activation
    if not mlp.is_gated:
        return lambda x: down(activation(up(x)))
    gate = _linear_step(mlp.gate)
    return lambda x: down(activation(gate(x)) * up(x))


def _side_by_side(*linears: nn.Linear) -> Step:
    """Return what several layers make of the same input, as one product where their weights are few enough to copy."""
    if sum(linear.weight.numel() for linear in linears) > _SMALL:
        steps = [_linear_step(linear) for linear in linears]
        return lambda x: torch.cat([step(x) for step in steps], dim=-1)
    bias = None if linears[0].bias is None else torch.cat([linear.bias for linear in linears])
    return _product(torch.cat([linear.weight for linear in linears]).T, bias)


def _linear_step(linear: nn.Linear) -> Step:
    return _product(linear.weight.T, linear.bias)


def _product(weight: Tensor, bias: Tensor | None) -> Step:
    if bias is None:
        return lambda x: x.mm(weight)
    return lambda x: torch.addmm(bias, x, weight)


def _norm_step(norm: LayerNorm | RMSNorm) -> Step:
    weight, eps, width = norm.weight, norm.eps, norm.weight.shape
    if isinstance(norm, RMSNorm):
        return lambda x: torch.rms_norm(x, width, weight, eps)
    bias = norm.bias
    return lambda x: torch.layer_norm(x, width, weight, bias, eps)
