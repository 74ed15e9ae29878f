"""Rollout and flow of a whole model run: how much of each final position comes from which input token."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Bool, Float

from headlight.analysis.flow.rollout import (
    FLOW_ASSUMES,
    ROLLOUT_ASSUMES,
    flow,
    flow_to_source,
    rollout,
    rollout_to_source,
)
from transformer_core.model.masks import causal_mask

if TYPE_CHECKING:
    from headlight.analysis.trace.model_run import ModelRun

Method = Literal["rollout", "flow"]
Where = Literal["source", "target"]

ASSUMES: Mapping[str, str] = {"rollout": ROLLOUT_ASSUMES, "flow": FLOW_ASSUMES}
MOST_TOKENS: Mapping[str, int] = {"rollout": 512, "flow": 96}  # flow finds its way anew for every pair of tokens


@dataclass(frozen=True, kw_only=True, eq=False)
class Part:
    """The final states of one side, and what of them may have come from the tokens of a side."""

    of: Where
    side: Where
    values: Float[np.ndarray, "query key"]  # in [0, 1]
    mask: Bool[np.ndarray, "query key"]  # True: there is a way from this token


def follow(model_run: "ModelRun", method: Method) -> tuple[Part, ...]:
    """Return where final states may have come from, by the patterns of all layers.

    Of the encoder, of the decoder, and of the decoder from the source: each that the model has.

    Args:
        model_run: of a short text.
        method: "rollout" multiplies the layers, "flow" asks how much could come through; see `rollout`.

    Source: Abnar and Zuidema 2020, "Quantifying attention flow in transformers".
    """
    means = {
        name: attention_maps.mean_by_layer.astype(np.float64)
        for name, attention_maps in model_run.attention_maps.items()
    }
    parts = []
    if "encoder" in means:
        parts.append(_of_one_stack(means["encoder"], "source", method))
    if "cross" in means:
        stacks = means["encoder"], means["decoder"], means["cross"]
        if method == "rollout":
            rollout = rollout_to_source(*stacks)
            source, target = rollout.source[-1], rollout.target[-1]
        else:
            rows = [flow_to_source(*stacks, query) for query in range(stacks[1].shape[1])]
            source, target = np.stack([row.source for row in rows]), np.stack([row.target for row in rows])
        parts.append(_part("target", "source", source, is_causal=False))
        parts.append(_part("target", "target", target, is_causal=True))
    elif "decoder" in means:
        parts.append(_of_one_stack(means["decoder"], "target", method))
    return tuple(parts)


def _of_one_stack(mean: Float[np.ndarray, "layer query key"], side: Where, method: Method) -> Part:
    if method == "rollout":
        values = rollout(mean)[-1]
    else:
        values = np.stack([flow(mean, query) for query in range(mean.shape[1])])
    return _part(side, side, values, is_causal=side == "target")


def _part(of: Where, side: Where, values: Float[np.ndarray, "query key"], *, is_causal: bool) -> Part:
    mask = causal_mask(len(values)).numpy() if is_causal else np.ones(values.shape, dtype=bool)
    return Part(of=of, side=side, values=values.clip(0, 1), mask=mask)
