"""The attention of a decoder while it generates: weights of one head, or a mean over heads, step by step."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from transformer_core.decoding.decoding_step import DecodingStep
from transformer_core.decoding.prediction import NextTokenPrediction

AttentionKind = Literal["decoder", "cross"]  # over the tokens so far, or over the source


@dataclass(frozen=True, kw_only=True)
class Aim:
    """A head, or the mean of several."""

    layer: int
    head: int
    mean: Literal["", "layer", "all"] = ""  # over the heads of the layer, or over all heads

    def of(self, rows: Float[np.ndarray, "layer head *key"]) -> Float[np.ndarray, "*key"]:
        """Return its weights; each row sums to 1, or is all 0 if no key may be attended to."""
        if self.mean == "all":
            return rows.mean(axis=(0, 1))
        return rows[self.layer].mean(axis=0) if self.mean == "layer" else rows[self.layer, self.head]


def attention_weights(prediction: NextTokenPrediction, kind: AttentionKind, aim: Aim) -> Float[np.ndarray, " key"]:
    """Return the attention weights of a prediction; empty if there is no such attention."""
    rows = prediction.self_rows if kind == "decoder" else prediction.cross_rows
    return np.zeros(0, dtype=np.float32) if rows is None else aim.of(rows)


def written_weights(steps: Sequence[DecodingStep], kind: AttentionKind, aim: Aim) -> Float[np.ndarray, "tgt key"]:
    """Return one row per step: the weights of the prediction of its token.

    Args:
        steps: consecutive, each with a decision.
        kind: over the tokens so far, with shorter rows padded with 0; or over the source.
        aim: the head, or the mean.
    """
    rows = [attention_weights(step.decision, kind, aim) for step in steps if step.decision is not None]
    matrix = np.zeros((len(rows), max(map(len, rows), default=0)), dtype=np.float32)
    for i, row in enumerate(rows):
        matrix[i, : len(row)] = row
    return matrix
