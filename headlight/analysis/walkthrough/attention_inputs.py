"""What the paper's attention is computed from: the vectors that it reads, its parameters, and its mask, as arrays."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from headlight.analysis.walkthrough.recomputing import attention_of, distance_bias
from headlight.analysis.walkthrough.walkthrough import Walkthrough
from transformer_core.errors import SiteError, mark
from transformer_core.model.stack import Stack
from transformer_core.model.transformer import Transformer

NORMALIZED = mark("this model normalizes queries and keys, which the paper does not; choose a model without that")
UNSCALED = mark("this model does not divide its scores by √d_k, as the paper does; choose a model that does")
SEES_NOTHING = mark("a query of this text may attend to no key, so its row has no softmax; choose another text")

Rotate = Callable[[Float[np.ndarray, "pos d_head"]], Float[np.ndarray, "pos d_head"]]


@dataclass(frozen=True, kw_only=True, eq=False)
class AttentionInputs:
    """The inputs of one attention on one text, in float64; projections are written as in the paper, q = x W_Q + b_Q."""

    x: Float[np.ndarray, "query d_model"]  # what is projected to queries, normalized where the model does so
    memory: Float[np.ndarray, "key d_model"] | None  # what is projected to keys and values; None: x
    W_Q: Float[np.ndarray, "head d_model d_head"]
    b_Q: Float[np.ndarray, "head d_head"]  # as are the other biases, 0 where the model has none
    W_K: Float[np.ndarray, "head d_model d_head"]  # of a group of heads, each has those of the group
    b_K: Float[np.ndarray, "head d_head"]
    W_V: Float[np.ndarray, "head d_model d_head"]
    b_V: Float[np.ndarray, "head d_head"]
    W_O: Float[np.ndarray, "head_d_head d_model"]
    b_O: Float[np.ndarray, " d_model"]
    mask: Bool[np.ndarray, "query key"]  # True = may attend
    bias: Float[np.ndarray, "head query key"] | None  # that positions add to the scores; None: nothing
    rotate: Rotate | None  # turns queries and keys of a head by their positions; None: the model has no such turn

    @property
    def n_heads(self) -> int:
        """Heads of queries."""
        return self.W_Q.shape[0]

    @property
    def d_head(self) -> int:
        """The paper's d_k."""
        return self.W_Q.shape[2]


@torch.inference_mode()
def attention_inputs(model: Transformer, walk: Walkthrough) -> AttentionInputs:
    """Return the inputs of the attention of a walk.

    Args:
        model: that was walked through.
        walk: through any head of the attention.

    Raises:
        SiteError: the model's attention has a part that the paper's formula has no place for.
    """
    outline = walk.outline
    if outline.config.qk_norm:
        raise SiteError(NORMALIZED)
    if not outline.config.scale_scores:
        raise SiteError(UNSCALED)
    of_walk = walk.recomputed
    mask = of_walk["mask"] > 0
    if not mask.any(axis=-1).all():
        raise SiteError(SEES_NOTHING)
    attention = attention_of(model.get_submodule(outline.block), outline)
    n_heads, n_queries = attention.n_heads, len(mask)
    W_Q, b_Q = _of_heads(attention.q, n_heads, attention.d_head)
    W_K, b_K = _of_heads(attention.k, n_heads, attention.d_head)
    W_V, b_V = _of_heads(attention.v, n_heads, attention.d_head)
    bias = distance_bias(model, outline, n_queries)
    return AttentionInputs(
        x=of_walk["x_normalized" if outline.is_pre_norm else "x"],
        memory=of_walk["memory"] if outline.is_cross else None,
        W_Q=W_Q,
        b_Q=b_Q,
        W_K=W_K,
        b_K=b_K,
        W_V=W_V,
        b_V=b_V,
        W_O=_array(attention.out.weight.T),
        b_O=_bias_of(attention.out),
        mask=mask,
        bias=None if bias is None else _array(bias),
        rotate=_rotation(model, walk, n_queries),
    )


def _of_heads(
    projection: nn.Linear, n_heads: int, d_head: int
) -> tuple[Float[np.ndarray, "head d_model d_head"], Float[np.ndarray, "head d_head"]]:
    """Return the weight and the bias of a projection for each head of queries, as the paper writes them."""
    weight = _array(projection.weight).reshape(-1, d_head, projection.in_features)  # [head or kv_head, ...]
    bias = _bias_of(projection).reshape(-1, d_head)
    group = n_heads // len(weight)
    return weight.swapaxes(1, 2).repeat(group, axis=0), bias.repeat(group, axis=0)


def _bias_of(projection: nn.Linear) -> Float[np.ndarray, " width"]:
    return np.zeros(projection.out_features) if projection.bias is None else _array(projection.bias)


def _rotation(model: Transformer, walk: Walkthrough, n_positions: int) -> Rotate | None:
    """Return the rotary positions of queries and keys in float64; None if there are none."""
    if not walk.outline.is_rotated:
        return None
    stack = model.get_submodule(walk.outline.stack)
    assert isinstance(stack, Stack), "a block is part of a stack"
    rotary = stack.rotary_in(walk.outline.layer)
    assert rotary is not None, "the outline says that this layer has rotary positions"
    rotation = rotary(0, n_positions, torch.device("cpu"))

    def rotate(x: Float[np.ndarray, "pos d_head"]) -> Float[np.ndarray, "pos d_head"]:
        return rotation.rotate(torch.from_numpy(np.array(x))[None, None])[0, 0].numpy()

    return rotate


def _array(tensor: Tensor) -> Float[np.ndarray, "..."]:
    return tensor.detach().double().cpu().numpy()
