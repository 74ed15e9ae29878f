"""What the paper's attention is computed from: the vectors that it reads, its parameters, and its mask, as arrays."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float

from headlight.analysis.walkthrough.walkthrough import Walkthrough
from transformer_core.errors import SiteError, mark
from transformer_core.model.rotary import RotaryPositions

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
def attention_inputs(walk: Walkthrough) -> AttentionInputs:
    """Return the inputs of the attention of a walk through any of its heads.

    Raises:
        SiteError: the model's attention has a part that the paper's formula has no place for.
    """
    outline, weights, config = walk.outline, walk.weights, walk.outline.config
    if config.qk_norm:
        raise SiteError(NORMALIZED)
    if not config.scale_scores:
        raise SiteError(UNSCALED)
    mask = walk.recomputed["mask"] > 0
    if not mask.any(axis=-1).all():
        raise SiteError(SEES_NOTHING)
    (W_Q, b_Q), (W_K, b_K), (W_V, b_V) = (weights.of_heads(f"{outline.module}.{name}", config) for name in "qkv")
    b_O = weights.bias(f"{outline.module}.out")
    rotate: Rotate | None = None
    if outline.is_rotated:
        rotation = RotaryPositions(config)(0, len(mask), torch.device("cpu"))

        def rotate(x: Float[np.ndarray, "pos d_head"]) -> Float[np.ndarray, "pos d_head"]:
            return rotation.rotate(torch.from_numpy(np.array(x))[None, None])[0, 0].numpy()

    return AttentionInputs(
        x=walk.recomputed["x_normalized" if outline.is_pre_norm else "x"],
        memory=walk.recomputed["memory"] if outline.is_cross else None,
        W_Q=W_Q.swapaxes(1, 2),
        b_Q=b_Q,
        W_K=W_K.swapaxes(1, 2),
        b_K=b_K,
        W_V=W_V.swapaxes(1, 2),
        b_V=b_V,
        W_O=weights[f"{outline.module}.out.weight"].T,
        b_O=np.zeros(config.d_model) if b_O is None else b_O,
        mask=mask,
        bias=walk.float64.bias,
        rotate=rotate,
    )
