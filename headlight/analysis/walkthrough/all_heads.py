"""All heads of an attention in one product: by the formula, and by torch's kernel, from the same inputs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F

from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.analysis.trace.traced_forward import captured
from transformer_core.model.attention import MultiHeadAttention, attention_pattern, attention_scores
from transformer_core.model.stack import Stack
from transformer_core.model.transformer import Transformer

Queries = Float[Tensor, "batch head query d_head"]
Keys = Float[Tensor, "batch head key d_head"]


@dataclass(frozen=True, kw_only=True)
class BatchedHeads:
    """The shapes of an attention's tensors on a text, and how far the formula is from torch's kernel."""

    projected: tuple[int, ...]  # x W_Q: [batch, pos, head * d_head]
    split: tuple[int, ...]  # [batch, pos, head, d_head]
    permuted: tuple[int, ...]  # [batch, head, pos, d_head]
    scores: tuple[int, ...]  # [batch, head, query, key]
    difference: float | None  # largest absolute difference of z; None: the kernel has no soft cap, which the model has


@torch.inference_mode()
def all_heads(model: Transformer, inputs: Sequence[Sequence[int]], *, attention: str, layer: int) -> BatchedHeads:
    """Run an attention on a text by the formula and by torch's kernel, all heads at once.

    Args:
        model: in evaluation mode.
        inputs: tokens of the text, and of the decoder's input where there are two stacks.
        attention: "encoder", "decoder" or "cross".
        layer: from 0.
    """
    path = ATTENTIONS[attention].module.format(layer=layer)
    module, stack = model.get_submodule(path), model.get_submodule(path.partition(".")[0])
    assert isinstance(module, MultiHeadAttention) and isinstance(stack, Stack), "the path of an attention in a stack"
    sites = [f"{path}.hook_{name}" for name in ("q", "k", "v", "mask")]
    acts = captured(model, inputs, *sites)
    q, k, v, mask = (acts[site] for site in sites)
    k, v = (x.repeat_interleave(module.n_heads // module.n_kv_heads, dim=1) for x in (k, v))
    rule = None if attention == "cross" else stack.bias_at(0, q.shape[2], q.device)
    bias = None if rule is None else rule.write_out().to(q.dtype)
    by_token = q.transpose(1, 2)  # as the projection gives them
    difference = None
    if module.cap is None:
        z, fused = (run(q, k, v, mask, bias, module.scale) for run in (by_formula, by_kernel))
        difference = float((z - fused).abs().max())
    return BatchedHeads(
        projected=tuple(by_token.flatten(start_dim=2).shape),
        split=tuple(by_token.shape),
        permuted=tuple(q.shape),
        scores=(*q.shape[:3], k.shape[2]),
        difference=difference,
    )


def by_formula(q: Queries, k: Keys, v: Keys, mask: Bool[Tensor, "..."], bias: Tensor | None, scale: float) -> Queries:
    """Return softmax(Q K^T / sqrt(d_head)) V of all heads, with the core's own functions."""
    scores = attention_scores(q, k, mask, bias=bias, scale=scale)
    pattern = attention_pattern(scores)  # softmax over the keys
    return pattern @ v


def by_kernel(q: Queries, k: Keys, v: Keys, mask: Bool[Tensor, "..."], bias: Tensor | None, scale: float) -> Queries:
    """Return the same by torch's kernel, which never stores scores or pattern."""
    added = mask if bias is None else bias.masked_fill(~mask, -math.inf)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=added, scale=scale)
