"""The loss: cases computed by hand, and ignored targets."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer_core.corpora.batch_order import IGNORED
from transformer_core.errors import HeadlightError
from transformer_core.training.objective import label_smoothed_cross_entropy


def test_a_case_computed_by_hand():
    """Three tokens, smoothing 0.3: the correct token has 0.7 + 0.1, each other one 0.1."""
    logits = torch.tensor([[[0, 0, 0], [math.log(1), math.log(2), math.log(5)]]], dtype=torch.float64)
    logits.requires_grad_()
    loss = label_smoothed_cross_entropy(logits, torch.tensor([[1, 2]]), smoothing=0.3)
    first = math.log(3)
    second = -(0.1 * math.log(1 / 8) + 0.1 * math.log(2 / 8) + 0.8 * math.log(5 / 8))
    assert loss.item() == pytest.approx((first + second) / 2, rel=1e-12)
    loss.backward()
    by_hand = [[[1 / 3 - 0.1, 1 / 3 - 0.8, 1 / 3 - 0.1], [1 / 8 - 0.1, 2 / 8 - 0.1, 5 / 8 - 0.8]]]
    torch.testing.assert_close(logits.grad, torch.tensor(by_hand, dtype=torch.float64) / 2, rtol=1e-12, atol=1e-15)


@given(st.integers(0, 2**32))
@settings(max_examples=20)
def test_what_is_ignored_counts_for_nothing(seed: int):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(3, 5, 6, generator=generator, dtype=torch.float64).requires_grad_()
    targets = torch.randint(6, (3, 5), generator=generator)
    targets[torch.rand(3, 5, generator=generator) < 0.3] = IGNORED
    targets[0, 0] = 1
    is_ignored = targets == IGNORED
    loss = label_smoothed_cross_entropy(logits, targets)
    loss.backward()
    grad = logits.grad
    assert grad is not None
    assert not grad[is_ignored].any()
    counting = zip(logits.detach()[~is_ignored], targets[~is_ignored], strict=True)
    alone = [label_smoothed_cross_entropy(row[None, None], target[None, None]) for row, target in counting]
    assert loss.item() == pytest.approx(float(torch.stack(alone).mean()), rel=1e-12)


def test_targets_of_which_none_counts():
    """There is nothing to take the mean of."""
    with pytest.raises(HeadlightError, match="this batch has no targets"):
        label_smoothed_cross_entropy(torch.zeros(2, 3, 5), torch.full((2, 3), IGNORED))
