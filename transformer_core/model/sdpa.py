"""Attention by torch's fused kernel, which never stores the pattern; `attention.py` has the formula step by step."""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.compiler import is_compiling
from torch.nn import functional as F

from transformer_core.model.distance_bias import PositionBias
from transformer_core.model.masks import AttentionMask

WrittenMask = Bool[Tensor, "#batch #head #query #key"]
Mask = WrittenMask | AttentionMask
MemoryMask = Bool[Tensor, "#batch #head #query #src"] | AttentionMask  # of cross-attention
Bias = Float[Tensor, "#batch #head query key"]

_CHUNK = 1024  # queries whose mask or bias is materialized at a time


def scaled_dot_product_attention(
    q: Float[Tensor, "batch head query d_head"],
    k: Float[Tensor, "batch head key d_head"],
    v: Float[Tensor, "batch head key d_head"],
    mask: Mask | None = None,
    *,
    bias: Bias | PositionBias | None = None,
    scale: float | None = None,
) -> Float[Tensor, "batch head query d_head"]:
    """Return softmax(Q K^T / sqrt(d_head) + bias) V by torch's fused kernel, which never stores the pattern.

    Args:
        q: queries.
        k: keys.
        v: values.
        mask: True = may attend; None allows everything. A rule is materialized for a chunk of queries at a time.
        bias: position bias, as a matrix or a rule.
        scale: factor in place of 1 / sqrt(d_head).

    Returns:
        for each query the weighted sum of the values; 0 if no key may be attended to.

    Source: Vaswani et al. 2017, sec. 3.2.1, eq. (1); Dao et al. 2022 for the kernel.
    """
    if isinstance(mask, AttentionMask) and mask.allows_everything:
        mask = None
    if bias is None and isinstance(mask, AttentionMask) and mask.is_causal_only:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=scale)
    if bias is None and not isinstance(mask, AttentionMask):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale)
    z = [
        F.scaled_dot_product_attention(q[:, :, queries], k, v, attn_mask=_added(mask, bias, queries, q), scale=scale)
        for queries in chunks_of(q)
    ]
    return z[0] if len(z) == 1 else torch.cat(z, dim=2)


def are_finite(*inputs: Tensor) -> bool:
    """Return False if some inputs are known not to be finite, which is checked where `can_be_read`.

    The CPU kernel returns 0 for a row of NaN scores, as for a fully masked row, which would hide the NaN.
    """
    if not can_be_read(inputs[0]):
        return True
    # a sum is the fastest check; it may overflow although all numbers are finite
    return all(math.isfinite(x.sum().item()) or bool(x.isfinite().all()) for x in inputs)


def can_be_read(x: Tensor) -> bool:
    """Return whether the code may depend on the numbers in `x`: on a CPU, where this needs no synchronization."""
    return not is_compiling() and x.device.type == "cpu" and type(x) is Tensor  # subclasses may have no data


def chunks_of(q: Float[Tensor, "batch head query d_head"]) -> list[slice]:
    """Return the slices of the queries whose masks and biases are materialized together."""
    return [slice(first, first + _CHUNK) for first in range(0, q.shape[2], _CHUNK)]


def _added(mask: Mask | None, bias: Bias | PositionBias | None, queries: slice, like: Tensor) -> Tensor:
    """Return the mask and bias of some queries for the kernel: boolean, or floating-point if there is a bias."""
    allowed = rows_of(mask, queries)
    added = rows_of(bias, queries)
    if added is None:
        assert allowed is not None, "without a mask and a bias there is nothing to add"
        return allowed
    added = added.to(like.dtype)
    return added if allowed is None else torch.where(allowed, added, -math.inf)


def rows_of(part: Mask | Bias | PositionBias | None, queries: slice) -> Tensor | None:
    """Return some queries' rows of a mask or a bias, given as a rule or a matrix."""
    if part is None or isinstance(part, Tensor):
        return part if part is None or part.shape[2] == 1 else part[:, :, queries]
    return part.write_out(queries)


def mask_of_each(mask: Mask | None, q: Tensor, k: Tensor) -> Bool[Tensor, "batch head_or_1 query key"]:
    """Return a separate mask for each text of the batch, so that a hook may edit it."""
    everything = torch.ones(q.shape[0], 1, q.shape[2], k.shape[2], dtype=torch.bool, device=q.device)
    rows = rows_of(mask, slice(None))
    return everything if rows is None else everything & rows
