"""Where a decoder looked while it wrote: one head's weights, or a mean, step by step."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from transformer_core.decoding.decoding_step import DecodingStep
from transformer_core.decoding.prediction import NextTokenPrediction

Kind = Literal["decoder", "cross"]  # over what was written so far, or over the source


@dataclass(frozen=True, kw_only=True)
class Aim:
    """A head, or the mean of several."""

    layer: int
    head: int
    mean: Literal["", "layer", "all"] = ""  # over the heads of the layer, or over all heads

    def of(self, rows: Float[np.ndarray, "layer head *key"]) -> Float[np.ndarray, "*key"]:
        """Return its weights; like each head's they sum to 1, or are all 0 where nothing may be attended to."""
        if self.mean == "all":
            return rows.mean(axis=(0, 1))
        return rows[self.layer].mean(axis=0) if self.mean == "layer" else rows[self.layer, self.head]


def weights(prediction: NextTokenPrediction, kind: Kind, aim: Aim) -> Float[np.ndarray, " key"]:
    """Return where a head, or a mean, looked to say what comes next; empty where there is no such attention."""
    rows = prediction.self_rows if kind == "decoder" else prediction.cross_rows
    return np.zeros(0, dtype=np.float32) if rows is None else aim.of(rows)


def written_weights(steps: Sequence[DecodingStep], kind: Kind, aim: Aim) -> Float[np.ndarray, "tgt key"]:
    """Return a row for each step: where it was looked in order to write its token.

    Args:
        steps: of one path, each after the one before; all with a decision.
        kind: over what was written so far, as long as the last row, then filled up with 0; or over the source.
        aim: of whom.
    """
    rows = [weights(step.decision, kind, aim) for step in steps if step.decision is not None]
    matrix = np.zeros((len(rows), max(map(len, rows), default=0)), dtype=np.float32)
    for i, row in enumerate(rows):
        matrix[i, : len(row)] = row
    return matrix
