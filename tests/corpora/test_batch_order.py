"""The order of batches: every row once an epoch, little padding, and the same again from a position."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from transformer_core.corpora.batch_order import IGNORED, Batch, Batches, BatchPosition
from transformer_core.errors import CorpusError


class Numbers(Batches):
    """Batches that say which rows they are of."""

    def __init__(self, lengths: list[int], *, batch_size: int, seed: int = 0) -> None:
        self.lengths = np.array(lengths)
        super().__init__(len(lengths), batch_size=batch_size, seed=seed)

    def _by_length(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        return rows[np.argsort(self.lengths[rows], kind="stable")]

    def batch(self, rows: NDArray[np.int64]) -> Batch:
        return Batch(inputs=(torch.from_numpy(rows[:, None]),), targets=torch.full((len(rows), 1), IGNORED))

    def take(self) -> list[int]:
        rows: list[int] = next(self).inputs[0][:, 0].tolist()
        return rows


def epoch_of(batches: Numbers) -> list[list[int]]:
    return [batches.take() for _ in range(batches.batches_per_epoch)]


def order_by_hand(lengths: list[int], batch_size: int, seed: int, epoch: int) -> list[list[int]]:
    """An epoch cut into its batches one after another, as before: older runs resume with it."""
    random = np.random.default_rng((seed, epoch))
    shuffled = random.permutation(len(lengths)).tolist()
    batches = []
    while shuffled:
        stretch, shuffled = shuffled[: 16 * batch_size], shuffled[16 * batch_size :]
        stretch.sort(key=lambda row: lengths[row])
        while stretch:
            batch, stretch = stretch[:batch_size], stretch[batch_size:]
            batches.append(batch)
    return [batches[i] for i in random.permutation(len(batches))]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=300), st.integers(1, 9), st.integers(0, 2**32))
@settings(max_examples=50)
def test_each_epoch_holds_every_row_once_in_its_order(lengths: list[int], batch_size: int, seed: int):
    batches = Numbers(lengths, batch_size=batch_size, seed=seed)
    for epoch in range(2):
        assert batches.position == BatchPosition(epoch=epoch, index=0)
        taken = epoch_of(batches)
        assert taken == order_by_hand(lengths, batch_size, seed, epoch)
        assert Counter(row for batch in taken for row in batch) == Counter(range(len(lengths)))
        assert max(map(len, taken)) <= batch_size


def test_a_position_that_does_not_exist_is_refused():
    batches = Numbers([3] * 9, batch_size=4)
    for position in (BatchPosition(epoch=0, index=3), replace(batches.position, epoch=-1)):
        with pytest.raises(CorpusError, match="an epoch has 3 batches"):
            batches.seek(position)
