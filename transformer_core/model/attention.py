"""Attention: the formula as free functions, and the module that owns the projections.

Watched, attention is written out (scores, mask, softmax, values, each a hook point); unwatched, it takes torch's fused
kernel. The tests hold both to the same numbers.
"""

import math
from collections.abc import Callable
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_core.config import ModelConfig
from transformer_core.hooks import HookPoint, is_watched
from transformer_core.model.dropout import Dropout

Mask = Bool[Tensor, "#batch #head #query #key"]
MemoryMask = Bool[Tensor, "#batch #head #query #src"]  # cross-attention's: its keys are the source's positions


def attention_scores(
    q: Float[Tensor, "batch head query d_head"],
    k: Float[Tensor, "batch head key d_head"],
    mask: Mask | None = None,
) -> Float[Tensor, "batch head query key"]:
    """Return Q K^T / sqrt(d_head), with -inf where `mask` forbids.

    Source: Vaswani et al. 2017, sec. 3.2.1, the argument of the softmax in eq. (1); the -inf: sec. 3.2.3.
    """
    attn_scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    return attn_scores if mask is None else attn_scores.masked_fill(~mask, -math.inf)


def attention_pattern(
    attn_scores: Float[Tensor, "batch head query key"],
) -> Float[Tensor, "batch head query key"]:
    """Return the softmax over `key`: each row sums to 1, or is all 0 where nothing may be attended to (all -inf)."""
    nothing = attn_scores.amax(dim=-1, keepdim=True) == -math.inf  # [batch, head, query, 1]
    return attn_scores.masked_fill(nothing, 0.0).softmax(dim=-1).masked_fill(nothing, 0.0)


def scaled_dot_product_attention(
    q: Float[Tensor, "batch head query d_head"],
    k: Float[Tensor, "batch head key d_head"],
    v: Float[Tensor, "batch head key d_head"],
    mask: Mask | None = None,
) -> Float[Tensor, "batch head query d_head"]:
    """Return softmax(Q K^T / sqrt(d_head)) V by torch's fused kernel, which never stores the pattern.

    Args:
        q: queries.
        k: keys.
        v: values.
        mask: True = may attend; None allows everything.

    Returns:
        for each query the weighted sum of the values; 0 where nothing may be attended to.

    Source: Vaswani et al. 2017, sec. 3.2.1, eq. (1); Dao et al. 2022 for the kernel.
    """
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


@runtime_checkable
class KeyValueStore(Protocol):
    """Keeps keys and values between calls, so that decoding projects each position once."""

    def keys_values(self, project: Callable[[], tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
        """Return all keys and values [batch, head, key, d_head]; `project` computes those of the present input."""
        ...


class MultiHeadAttention(nn.Module):
    """MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W_O, where head_i = Attention(Q W_Q_i, K W_K_i, V W_V_i).

    Self-attention where both inputs are the same, cross-attention where keys and values come from the encoder's output.

    Source: Vaswani et al. 2017, sec. 3.2.2.
    Differs: with `attention_bias` the projections have biases, which the paper's formula has not and common practice
    has.
    """

    def __init__(self, config: ModelConfig) -> None:
        """Build the four projections; row block i of q, k and v, and column block i of out, belong to head i."""
        super().__init__()
        self.n_heads, self.d_head = config.n_heads, config.d_head
        self.q, self.k, self.v, self.out = (
            nn.Linear(config.d_model, config.d_model, bias=config.attention_bias) for _ in range(4)
        )
        self.dropout = Dropout(config.dropout)
        self.dropout_pattern = Dropout(config.dropout_pattern)
        self.hook_q, self.hook_k, self.hook_v = HookPoint(), HookPoint(), HookPoint()
        self.hook_mask, self.hook_attn_scores, self.hook_pattern = HookPoint(), HookPoint(), HookPoint()
        self.hook_z, self.hook_result, self.hook_attn_out = HookPoint(), HookPoint(), HookPoint()

    def forward(
        self,
        query_input: Float[Tensor, "batch query d_model"],
        key_value_input: Float[Tensor, "batch new_key d_model"],
        mask: Mask | None = None,
        store: KeyValueStore | None = None,
    ) -> Float[Tensor, "batch query d_model"]:
        """Return what this sub-layer adds to the residual stream.

        Args:
            query_input: where the queries come from.
            key_value_input: where keys and values come from; with a store, those that are new to it.
            mask: True = may attend; None allows everything.
            store: keeps keys and values while decoding; then `mask` covers all the keys that it returns.
        """
        if query_input is key_value_input:
            q, *k_v = self._project(query_input, self.q, self.k, self.v)
        else:
            (q,), k_v = self._project(query_input, self.q), []

        def project() -> tuple[Tensor, Tensor]:
            k, v = k_v or self._project(key_value_input, self.k, self.v)
            return self.hook_k(k), self.hook_v(v)

        q = self.hook_q(q)
        k, v = project() if store is None else store.keys_values(project)
        if is_watched(self.hook_mask):
            everything = torch.ones(q.shape[0], 1, q.shape[2], k.shape[2], dtype=torch.bool, device=q.device)
            mask = self.hook_mask(everything if mask is None else everything & mask)  # [batch, 1 or head, query, key]
        return self.hook_attn_out(self.dropout(self._merge_heads(self.hook_z(self._attend(q, k, v, mask)))))

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Mask | None) -> Tensor:
        """Return z, by the fused kernel unless somebody looks inside."""
        if not is_watched(self.hook_attn_scores, self.hook_pattern) and not self.dropout_pattern.is_active:
            return scaled_dot_product_attention(q, k, v, mask)
        attn_scores = self.hook_attn_scores(attention_scores(q, k, mask))
        pattern = self.hook_pattern(attention_pattern(attn_scores))  # [batch, head, query, key]
        return self.dropout_pattern(pattern) @ v

    def _project(self, x: Tensor, *projections: nn.Linear) -> list[Tensor]:
        """[batch, pos, d_model] -> [batch, head, pos, d_head], once for each projection.

        In training all projections of the same input are one matrix product, a third quicker; in evaluation, where the
        input may be the one token that is being decoded, setting their weights side by side costs more than it saves.
        """
        if self.training and len(projections) > 1:
            weight = torch.cat([projection.weight for projection in projections])
            bias = torch.cat([p.bias for p in projections]) if projections[0].bias is not None else None
            projected = F.linear(x, weight, bias).chunk(len(projections), dim=-1)
        else:
            projected = tuple(projection(x) for projection in projections)
        return [y.unflatten(-1, (self.n_heads, self.d_head)).transpose(1, 2) for y in projected]

    def _merge_heads(self, z: Tensor) -> Tensor:
        """[batch, head, query, d_head] -> [batch, query, d_model], through W_O."""
        if not is_watched(self.hook_result):
            return self.out(z.transpose(1, 2).flatten(start_dim=-2))
        w_out = self.out.weight.unflatten(-1, (self.n_heads, self.d_head))  # [d_model, head, d_head]
        result = self.hook_result(torch.einsum("bhqd,mhd->bhqm", z, w_out))  # [batch, head, query, d_model]
        attn_out = result.sum(dim=1)
        return attn_out if self.out.bias is None else attn_out + self.out.bias
