"""What a model says of a batch as the training has it: a probability for each token of the vocabulary at each place."""

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
    model: Transformer, batch: Batch, *, row: int, pos: int, n_top: int = 5, most_numbers: int = 2**26
) -> BatchPredictions:
    """Return a model's predictions for a whole batch, without dropout, and the most probable tokens of one cell.

    Args:
        model: which takes such a batch; it is left as it was.
        batch: as `batches_for` makes it, on the model's device.
        row: of the cell.
        pos: of the cell.
        n_top: likeliest tokens.
        most_numbers: probabilities that are held at a time, at 4 bytes each; one row at least is.
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
