"""Attention: the formula as free functions, and the module that owns the projections.

With a hook on scores or pattern, attention is computed step by step (scores, mask, softmax, values); otherwise by
torch's fused kernel, in `sdpa.py`. Both give the same numbers, even where some are not finite.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.forward_ad import unpack_dual

from transformer_core.config import ModelConfig
from transformer_core.hooks import HookPoint, LazyPatternPoint, has_hooks
from transformer_core.model.distance_bias import PositionBias
from transformer_core.model.masks import AttentionMask
from transformer_core.model.norms import build_norm, build_qk_norm
from transformer_core.model.rotary import Rotation
from transformer_core.model.sdpa import (
    Bias,
    Mask,
    WrittenMask,
    are_finite,
    can_be_read,
    chunks_of,
    mask_of_each,
    rows_of,
    scaled_dot_product_attention,
)
from transformer_core.model.stores import KeyValueStore


def attention_scores(
    q: Float[Tensor, "batch head query d_head"],
    k: Float[Tensor, "batch head key d_head"],
    mask: WrittenMask | None = None,
    *,
    bias: Bias | None = None,
    scale: float | None = None,
    cap: float | None = None,
) -> Float[Tensor, "batch head query key"]:
    """Return Q K^T / sqrt(d_head) + bias, with -inf where `mask` forbids.

    Args:
        q: queries.
        k: keys.
        mask: True = may attend; None allows everything.
        bias: of the positions (Raffel et al. 2020, Press et al. 2022); the paper has none.
        scale: factor in place of 1 / sqrt(d_head).
        cap: soft cap of the scores before the mask; None: no cap, as in the paper.

    Source: Vaswani et al. 2017, sec. 3.2.1, the argument of the softmax in eq. (1); the -inf: sec. 3.2.3.
    """
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    attn_scores = (q * scale) @ k.transpose(-2, -1)  # cheaper than scaling the scores
    if bias is not None:
        attn_scores += bias
    if cap is not None:
        attn_scores = soft_cap(attn_scores, cap)
    return attn_scores if mask is None else attn_scores.masked_fill_(~mask, -math.inf)


def soft_cap(x: Float[Tensor, "*axes"], cap: float) -> Float[Tensor, "*axes"]:
    """Return cap * tanh(x / cap): nearly x where it is small, and always between -cap and cap.

    Source: Bello et al. 2016, app. A.2; Gemma Team 2024, sec. 2, for scores and logits.
    """
    return cap * torch.tanh(x / cap)


def attention_pattern(
    attn_scores: Float[Tensor, "batch head query key"],
    *,
    again: Callable[[], Float[Tensor, "batch head query key"]] | None = None,
) -> Float[Tensor, "batch head query key"]:
    """Return the softmax over `key`: each row sums to 1, or is all 0 if no key may be attended to (all -inf).

    Args:
        attn_scores: the argument of the softmax.
        again: computes the scores again; with it, the pattern overwrites `attn_scores` unless these are differentiated.
    """
    if can_be_read(attn_scores):
        memory = None if again is None or _is_differentiated(attn_scores) else attn_scores
        pattern = torch.softmax(attn_scores, dim=-1, out=memory)  # NaN in each row that is all -inf
        if not pattern[..., 0].isnan().any():
            return pattern
        attn_scores = attn_scores if again is None else again()
    nothing = attn_scores.amax(dim=-1, keepdim=True) == -math.inf  # [batch, head, query, 1]
    return attn_scores.masked_fill(nothing, 0.0).softmax(dim=-1).masked_fill(nothing, 0.0)


def _is_differentiated(x: Tensor) -> bool:
    """Return whether autograd records what is computed from `x`, backward or forward."""
    return x.requires_grad or unpack_dual(x).tangent is not None


@dataclass(frozen=True, kw_only=True, eq=False)
class PatternInputs:
    """The inputs of a pattern: enough to compute any part of it later, in memory linear in the length."""

    q: Float[Tensor, "batch head query d_head"]
    k: Float[Tensor, "batch kv_head key d_head"]  # each key head serves a group of query heads
    mask: Mask | None
    bias: PositionBias | None
    scale: float
    cap: float | None
    pattern: Float[Tensor, "batch head query key"] | None  # precomputed if a hook reads or edits it
    attend: Callable[[Tensor], Tensor] | None = None  # set by a hook that reads the pattern in parts: values -> z


class MultiHeadAttention(nn.Module):
    """MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W_O, where head_i = Attention(Q W_Q_i, K W_K_i, V W_V_i).

    Self-attention if both inputs are the same, cross-attention if keys and values come from the encoder's output. With
    fewer key-value heads than query heads, each serves a group of neighbouring query heads (Ainslie et al. 2023).

    Source: Vaswani et al. 2017, sec. 3.2.2.
    Differs: with `attention_bias` the projections have biases, as is common practice; the paper's formula has none.
    """

    def __init__(self, config: ModelConfig) -> None:
        """Build the projections; row block i of q, k and v, and column block i of out, belong to head i."""
        super().__init__()
        self.n_heads, self.n_kv_heads, self.d_head = config.n_heads, config.n_kv_heads, config.d_head
        self.scale = 1 / math.sqrt(self.d_head) if config.scale_scores else 1.0
        self.cap = config.score_cap
        width, kv_width = self.n_heads * self.d_head, self.n_kv_heads * self.d_head
        has_bias = config.attention_bias in ("all", "qkv")
        self.q = nn.Linear(config.d_model, width, bias=has_bias)
        self.k = nn.Linear(config.d_model, kv_width, bias=has_bias)
        self.v = nn.Linear(config.d_model, kv_width, bias=has_bias)
        self.out = nn.Linear(width, config.d_model, bias=config.attention_bias == "all")
        self.q_norm = build_qk_norm(config, self.n_heads)
        self.k_norm = build_qk_norm(config, self.n_kv_heads)
        self.out_norm = build_norm(config, config.d_model) if config.output_norm else None
        self.dropout = nn.Dropout(config.dropout)
        self.dropout_pattern = nn.Dropout(config.dropout_pattern)
        self.hook_q, self.hook_k, self.hook_v = HookPoint(), HookPoint(), HookPoint()
        self.hook_mask, self.hook_attn_scores, self.hook_pattern = HookPoint(), HookPoint(), HookPoint()
        self.pattern_inputs = LazyPatternPoint()
        self.hook_z, self.hook_result, self.hook_attn_out = HookPoint(), HookPoint(), HookPoint()

    def forward(
        self,
        query_input: Float[Tensor, "batch query d_model"],
        key_value_input: Float[Tensor, "batch new_key d_model"],
        mask: Mask | None = None,
        store: KeyValueStore | None = None,
        *,
        rotation: Rotation | None = None,
        bias: PositionBias | None = None,
    ) -> Float[Tensor, "batch query d_model"]:
        """Return the output of this sub-layer, which is added to the residual stream.

        Args:
            query_input: projected to queries.
            key_value_input: projected to keys and values; with a store, only the new positions.
            mask: True = may attend; None allows everything.
            store: caches keys and values while decoding; `mask` then covers all keys that it returns.
            rotation: rotates queries and new keys by their positions (RoPE), in self-attention.
            bias: added to the scores, by the distance between query and key.
        """
        q = self.hook_q(self._heads(self.q(query_input), self.q_norm, rotation))
        if store is not None and store.complete is not None:
            k, v = store.complete
        else:
            k = self.hook_k(self._heads(self.k(key_value_input), self.k_norm, rotation))
            v = self.hook_v(self._heads(self.v(key_value_input)))
            if store is not None:
                k, v = store.append(k, v)
        if has_hooks(self.hook_mask):
            mask = self.hook_mask(mask_of_each(mask, q, k))  # [batch, 1 or head, query, key]
        out = self._merge_heads(self.hook_z(self._attend(q, k, v, mask, bias)))
        return self.hook_attn_out(self.dropout(out if self.out_norm is None else self.out_norm(out)))

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Mask | None, bias: PositionBias | None) -> Tensor:
        """Return z: by the fused kernel, unless scores are needed or capped, or some inputs are not finite."""
        keys, values, pattern, attend = self._for_each_head(k), self._for_each_head(v), None, None
        drops_weights = self.dropout_pattern.training and self.dropout_pattern.p > 0
        if drops_weights or has_hooks(self.hook_attn_scores, self.hook_pattern):
            pattern = self.hook_pattern(self._pattern(q, keys, mask, bias))
        if has_hooks(self.pattern_inputs):
            attend = self.pattern_inputs(
                PatternInputs(q=q, k=k, mask=mask, bias=bias, scale=self.scale, cap=self.cap, pattern=pattern)
            ).attend
        if pattern is not None:
            return self.dropout_pattern(pattern) @ values
        inputs = (q, k, v, *(() if bias is None else bias.weights))
        if attend is not None and not any(map(_is_differentiated, inputs)) and are_finite(*inputs):
            return attend(values)
        if self.cap is None and are_finite(*inputs):
            return scaled_dot_product_attention(q, keys, values, mask, bias=bias, scale=self.scale)
        return self._written_out(q, keys, values, mask, bias)

    def _pattern(self, q: Tensor, k: Tensor, mask: Mask | None, bias: PositionBias | None) -> Tensor:
        """Return the pattern; only a hook on the scores needs them too."""
        scores = partial(self._scores, q, k, mask, bias)
        if has_hooks(self.hook_attn_scores):
            return attention_pattern(self.hook_attn_scores(scores()))
        if isinstance(mask, AttentionMask) and bias is None and self.cap is None and can_be_read(q):
            # adding the mask is faster; where it would hide inf or NaN, it gives NaN, and the scores are computed again
            masked = attention_scores(q, k, bias=mask.added_to_scores, scale=self.scale)
            return attention_pattern(masked, again=scores)
        return attention_pattern(scores(), again=scores)

    def _scores(
        self, q: Tensor, k: Tensor, mask: Mask | None, bias: PositionBias | None, queries: slice = slice(None)
    ) -> Tensor:
        """Return the scores of some queries."""
        added = None if bias is None else bias.write_out(queries).to(q.dtype)
        allowed = rows_of(mask, queries)
        return attention_scores(q[:, :, queries], k, allowed, bias=added, scale=self.scale, cap=self.cap)

    def _written_out(self, q: Tensor, k: Tensor, v: Tensor, mask: Mask | None, bias: PositionBias | None) -> Tensor:
        """Return z by the formula, a chunk of queries at a time."""
        parts = [attention_pattern(self._scores(q, k, mask, bias, queries)) @ v for queries in chunks_of(q)]
        return torch.cat(parts, dim=2)

    def _for_each_head(self, x: Tensor) -> Tensor:
        """[batch, kv_head, key, d_head] -> [batch, head, key, d_head]."""
        group = self.n_heads // self.n_kv_heads
        return x if group == 1 else x.repeat_interleave(group, dim=1)

    def _heads(self, x: Tensor, norm: nn.Module | None = None, rotation: Rotation | None = None) -> Tensor:
        """[batch, pos, head * d_head] -> [batch, head, pos, d_head], normalized and rotated if configured."""
        heads = x.unflatten(-1, (-1, self.d_head)).transpose(1, 2)
        heads = heads if norm is None else norm(heads)
        return heads if rotation is None else rotation.rotate(heads)

    def _merge_heads(self, z: Tensor) -> Tensor:
        """[batch, head, query, d_head] -> [batch, query, d_model], through W_O."""
        if not has_hooks(self.hook_result):
            return self.out(z.transpose(1, 2).flatten(start_dim=-2))
        w_out = self.out.weight.unflatten(-1, (self.n_heads, self.d_head))  # [d_model, head, d_head]
        result = self.hook_result(torch.einsum("bhqd,mhd->bhqm", z, w_out))  # [batch, head, query, d_model]
        attn_out = result.sum(dim=1)
        return attn_out if self.out.bias is None else attn_out + self.out.bias
