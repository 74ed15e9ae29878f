"""The loss is torch's cross-entropy with label smoothing, to the last digit, and never wrong in silence."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from transformer_core.corpora.batching import IGNORED
from transformer_core.errors import HeadlightError
from transformer_core.training.objective import label_smoothed_cross_entropy

TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5}

shapes = st.tuples(st.integers(1, 4), st.integers(1, 6), st.integers(2, 9))
smoothings = st.sampled_from([0.0, 0.1, 0.5]) | st.floats(0, 0.99)


def random_case(shape: tuple[int, int, int], seed: int, *, scale: float = 3.0) -> tuple[Tensor, Tensor]:
    """Logits in float64, and targets of which about a third do not count and the first does."""
    generator = torch.Generator().manual_seed(seed)
    logits = scale * torch.randn(shape, generator=generator, dtype=torch.float64)
    targets = torch.randint(0, shape[-1], shape[:2], generator=generator)
    targets[torch.rand(shape[:2], generator=generator) < 0.3] = IGNORED
    targets[0, 0] = 1
    return logits, targets


def torch_loss(logits: Tensor, targets: Tensor, *, smoothing: float) -> Tensor:
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), label_smoothing=smoothing, ignore_index=IGNORED)


@pytest.mark.parametrize("dtype", TOLERANCE)
@given(shape=shapes, seed=st.integers(0, 2**32), smoothing=smoothings)
@settings(max_examples=50)
def test_value_and_gradient_are_those_of_torch(
    dtype: torch.dtype, shape: tuple[int, int, int], seed: int, smoothing: float
):
    case, targets = random_case(shape, seed)
    logits, expected_logits = (case.to(dtype).requires_grad_() for _ in range(2))
    loss = label_smoothed_cross_entropy(logits, targets, smoothing=smoothing)
    expected = torch_loss(expected_logits, targets, smoothing=smoothing)
    loss.backward()
    expected.backward()
    tolerance = TOLERANCE[dtype]
    torch.testing.assert_close(loss, expected, rtol=tolerance, atol=tolerance)
    torch.testing.assert_close(logits.grad, expected_logits.grad, rtol=tolerance, atol=tolerance)


def test_a_case_computed_by_hand():
    """Three tokens, smoothing 0.3: the right token has 0.7 + 0.1, each other one 0.1."""
    logits = torch.tensor([[[0, 0, 0], [math.log(1), math.log(2), math.log(5)]]], dtype=torch.float64)
    logits.requires_grad_()
    loss = label_smoothed_cross_entropy(logits, torch.tensor([[1, 2]]), smoothing=0.3)
    first = math.log(3)
    second = -(0.1 * math.log(1 / 8) + 0.1 * math.log(2 / 8) + 0.8 * math.log(5 / 8))
    assert loss.item() == pytest.approx((first + second) / 2, abs=1e-15)
    loss.backward()
    by_hand = [[[1 / 3 - 0.1, 1 / 3 - 0.8, 1 / 3 - 0.1], [1 / 8 - 0.1, 2 / 8 - 0.1, 5 / 8 - 0.8]]]
    torch.testing.assert_close(logits.grad, torch.tensor(by_hand, dtype=torch.float64) / 2, rtol=0, atol=1e-15)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_gradient_is_the_slope(smoothing: float):
    """Against finite differences."""
    logits, targets = random_case((2, 3, 5), seed=0)

    assert torch.autograd.gradcheck(
        lambda x: label_smoothed_cross_entropy(x, targets, smoothing=smoothing), logits.requires_grad_()
    )


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_huge_logits(dtype: torch.dtype, smoothing: float):
    case, targets = random_case((2, 4, 7), seed=1, scale=1e4)
    logits, expected_logits = (case.to(dtype).requires_grad_() for _ in range(2))
    loss = label_smoothed_cross_entropy(logits, targets, smoothing=smoothing)
    expected = torch_loss(expected_logits, targets, smoothing=smoothing)
    loss.backward()
    expected.backward()
    torch.testing.assert_close(loss, expected, rtol=1e-5, atol=0)
    torch.testing.assert_close(logits.grad, expected_logits.grad, rtol=1e-5, atol=1e-6)


@given(st.integers(0, 2**32))
@settings(max_examples=20)
def test_what_is_ignored_counts_for_nothing(seed: int):
    case, targets = random_case((3, 5, 6), seed)
    logits = case.requires_grad_()
    loss = label_smoothed_cross_entropy(logits, targets)
    loss.backward()
    grad, is_ignored = logits.grad, targets == IGNORED
    assert grad is not None
    assert not grad[is_ignored].any()
    assert (grad[~is_ignored].sum(dim=-1).abs() < 1e-15).all()  # probabilities go from one token to another
    other = torch.where(is_ignored[..., None], 1e9, case.detach())
    assert torch.equal(label_smoothed_cross_entropy(other, targets), loss.detach())


def test_one_right_token_and_no_smoothing_is_the_negative_log_probability():
    case, targets = random_case((1, 1, 6), seed=2)
    loss = label_smoothed_cross_entropy(case, targets, smoothing=0.0)
    assert loss.item() == pytest.approx(-math.log(float(case[0, 0].softmax(dim=-1)[1])), abs=1e-12)


def test_the_smallest_loss_is_the_entropy_of_the_smoothed_target():
    """Label smoothing never lets the loss go to 0: the best model gives the right token 0.9 + 0.1 / vocab."""
    smoothed = torch.tensor([0.02, 0.02, 0.92, 0.02, 0.02], dtype=torch.float64)
    logits = smoothed.log()[None, None].requires_grad_()
    loss = label_smoothed_cross_entropy(logits, torch.tensor([[2]]), smoothing=0.1)
    assert loss.item() == pytest.approx(-float((smoothed * smoothed.log()).sum()), abs=1e-15)
    loss.backward()
    torch.testing.assert_close(logits.grad, torch.zeros_like(logits), rtol=0, atol=1e-15)


def test_accumulated_gradients_are_those_of_the_weighted_sum():
    first, second = random_case((2, 3, 5), seed=3), random_case((2, 3, 5), seed=4)
    scale = torch.tensor([0.25, 3.0], dtype=torch.float64)
    weight, expected_weight = (torch.ones(5, dtype=torch.float64, requires_grad=True) for _ in range(2))
    for factor, (logits, targets) in zip(scale, (first, second), strict=True):
        (factor * label_smoothed_cross_entropy(weight * logits, targets)).backward()
    losses = [torch_loss(expected_weight * x, t, smoothing=0.1) for x, t in (first, second)]
    (scale * torch.stack(losses)).sum().backward()
    torch.testing.assert_close(weight.grad, expected_weight.grad, rtol=1e-12, atol=1e-12)


def test_the_input_is_left_alone():
    case, targets = random_case((2, 3, 5), seed=5)
    logits, before, targets_before = case.requires_grad_(), case.detach().clone(), targets.clone()
    label_smoothed_cross_entropy(logits, targets).backward()
    assert torch.equal(logits, before)
    assert torch.equal(targets, targets_before)


def test_targets_of_which_none_counts():
    """There is nothing to take the mean of."""
    with pytest.raises(HeadlightError, match="this batch has no targets"):
        label_smoothed_cross_entropy(torch.zeros(2, 3, 5), torch.full((2, 3), IGNORED))
