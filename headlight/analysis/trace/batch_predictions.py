"""Predictions of a model for a training batch: a probability for each token of the vocabulary at each position."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from transformer_core.corpora.batch_order import IGNORED, Batch
from transformer_core.model.transformer import Transformer


@dataclass(frozen=True, kw_only=True)
class BatchPredictions:
    """The summary of a batch's probabilities [batch, pos, vocab] that a page shows."""

    shape: tuple[int, int, int]  # batch, pos, vocab
    sums: NDArray[np.float64]  # [batch, pos], each over the vocabulary
    target: float | None  # probability of the target in the chosen cell; None where nothing counts
    rank: int | None  # of the target among all tokens there, from 1
    top: tuple[tuple[int, float], ...]  # the most probable tokens of that cell and their probabilities, descending


def predict(
    model: Transformer, batch: Batch, *, row: int, pos: int, n_top: int = 5, most_numbers: int = 2**26
) -> BatchPredictions:
    """Return a model's predictions for a whole batch, without dropout, and the most probable tokens of one cell.

    Args:
        model: that accepts such a batch; its mode is restored afterwards.
        batch: as `batches_for` makes it, on the model's device.
        row: of the cell.
        pos: of the cell.
        n_top: number of most probable tokens.
        most_numbers: probabilities held in memory at a time, 4 bytes each; at least one row.
    """
    was_training = model.training
    model.eval()
    n_rows, n_pos = batch.targets.shape
    vocab = model.config.vocab_size
    n_at_once = max(1, most_numbers // (n_pos * vocab))
    sums, cell = [], torch.empty(0)
    try:
        with torch.inference_mode():
            for rows in torch.arange(n_rows).split(n_at_once):
                probabilities = model(*batch.rows(rows).inputs).float().softmax(dim=-1)  # batch pos vocab
                sums.append(probabilities.sum(dim=-1, dtype=torch.float64))
                if row in rows:
                    cell = probabilities[row - int(rows[0]), pos].clone()
            best = cell.topk(min(n_top, vocab))
            target = int(batch.targets[row, pos])
            return BatchPredictions(
                shape=(n_rows, n_pos, vocab),
                sums=torch.cat(sums).numpy(),
                target=None if target == IGNORED else float(cell[target]),
                rank=None if target == IGNORED else 1 + int((cell > cell[target]).sum()),
                top=tuple(zip(best.indices.tolist(), best.values.tolist(), strict=True)),
            )
    finally:
        model.train(was_training)
