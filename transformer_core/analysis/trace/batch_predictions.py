"""What a model says of a batch as the training has it: a probability for each token of the vocabulary at each place."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from transformer_core.corpora.batch_order import IGNORED, Batch
from transformer_core.model.transformer import Transformer


@dataclass(frozen=True, kw_only=True)
class BatchPredictions:
    """The probabilities [batch, pos, vocab] of a batch, as far as a page tells of them."""

    shape: tuple[int, int, int]  # batch, pos, vocab
    sums: NDArray[np.float64]  # [batch, pos], each over the vocabulary
    target: float | None  # probability of the target in the chosen cell; None where nothing counts
    rank: int | None  # of the target among all tokens there, from 1
    top: tuple[tuple[int, float], ...]  # the likeliest tokens of that cell with their probabilities, the first one most


def predict(
    model: Transformer, batch: Batch, *, rows: Sequence[int], row: int, pos: int, n_top: int = 5
) -> BatchPredictions:
    """Return what a model says of a batch, without dropout; of one cell the likeliest tokens, too.

    Args:
        model: which takes such a batch; it is left as it was.
        batch: as `batches_for` makes it, on the model's device.
        rows: of the batch, that the model reads.
        row: of the cell, one of those.
        pos: of the cell.
        n_top: likeliest tokens.
    """
    was_training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            batch = batch.rows(torch.tensor(rows))
            probabilities = model(*batch.inputs).float().softmax(dim=-1)  # batch pos vocab
            cell = probabilities[rows.index(row), pos]
            best = cell.topk(min(n_top, len(cell)))
            target = int(batch.targets[rows.index(row), pos])
            return BatchPredictions(
                shape=tuple(probabilities.shape),
                sums=probabilities.sum(dim=-1, dtype=torch.float64).numpy(),
                target=None if target == IGNORED else float(cell[target]),
                rank=None if target == IGNORED else 1 + int((cell > cell[target]).sum()),
                top=tuple(zip(best.indices.tolist(), best.values.tolist(), strict=True)),
            )
    finally:
        model.train(was_training)
