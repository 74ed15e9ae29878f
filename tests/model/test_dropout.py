"""Dropout: how often, by how much, where the gradient goes, and when nothing at all happens.

Random numbers are seeded, so a statistical bound, of 5 standard deviations, holds or fails for good.
"""

import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tests.model.building import odd_config
from transformer_core.model.dropout import Dropout, keep_mask
from transformer_core.model.transformer import build

PROBABILITIES = pytest.mark.parametrize("probability", [0.1, 0.3, 0.5, 0.9, 1 / 65536, 0.25 + 1e-6])


def rounded(probability: float) -> float:
    """The nearest multiple of 2^-16."""
    return round(probability * 2**16) / 2**16


def training(probability: float) -> Dropout:
    return Dropout(probability).train()


@PROBABILITIES
def test_how_often(probability: float):
    n = 1_000_003
    kept = (training(probability)(torch.ones(n)) != 0).sum().item()
    p = rounded(probability)
    assert abs(kept - n * (1 - p)) < 5 * math.sqrt(n * p * (1 - p))


@PROBABILITIES
def test_by_how_much(probability: float):
    values = training(probability)(torch.ones(500_000)).unique()
    scale = torch.tensor(1 / (1 - rounded(probability)), dtype=torch.float64).float().item()
    assert values.tolist() == [0.0, scale]


@PROBABILITIES
def test_the_mean_stays(probability: float):
    n = 1_000_000
    x = torch.full((n,), 3.0)
    p = rounded(probability)
    deviation = 3.0 * math.sqrt(p / (1 - p) / n)
    assert abs(training(probability)(x).double().mean().item() - 3.0) < 5 * deviation + 1e-6


@pytest.mark.parametrize("probability", [0.1, 0.5])
def test_neighbours_are_independent(probability: float):
    """Four elements share one draw of the generator; their 16 bits must not know of each other."""
    n = 1 << 18
    kept = (keep_mask(torch.Size([n, 4]), probability) != 0).double()
    p = rounded(probability)
    deviation = math.sqrt(p * (1 - p) / n)
    assert ((kept.mean(dim=0) - (1 - p)).abs() < 5 * deviation).all()
    correlation = torch.corrcoef(torch.cat([kept[:-1], kept[1:]], dim=1).T)
    assert (correlation - torch.eye(8)).abs().max() < 5 / math.sqrt(n)


def test_calls_are_independent():
    n, dropout = 1 << 20, training(0.5)
    first, second = (dropout(torch.ones(n)) != 0 for _ in range(2))
    assert abs((first & second).sum().item() - n / 4) < 5 * math.sqrt(n * 3 / 16)


def test_the_same_seed_drops_the_same():
    dropout, x = training(0.3), torch.randn(7, 5)
    torch.manual_seed(5)
    first, second = dropout(x), dropout(x)
    torch.manual_seed(5)
    assert torch.equal(dropout(x), first) and torch.equal(dropout(x), second)
    assert not torch.equal(first, second)
    torch.manual_seed(6)
    assert not torch.equal(dropout(x), first)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_nothing_happens_in_evaluation_or_at_probability_0(dtype: torch.dtype):
    x = torch.randn(3, 5, dtype=dtype)
    assert training(0.5).eval()(x) is x
    assert training(0.0)(x) is x
    assert training(0.5).is_active
    assert not training(0.5).eval().is_active and not training(0.0).is_active


@given(st.lists(st.integers(1, 7), max_size=4).map(tuple), st.floats(0.05, 0.95))
def test_any_shape(shape: tuple[int, ...], probability: float):
    x = torch.randn(shape) + 10.0
    out = training(probability)(x)
    assert out.shape == shape and out.dtype == torch.float32
    scale = 1 / (1 - rounded(probability))
    torch.testing.assert_close(out, torch.where(out == 0, 0.0, x * scale))


def test_no_element_at_all():
    assert training(0.5)(torch.ones(2, 0, 3)).shape == (2, 0, 3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_gradient_is_the_mask(dtype: torch.dtype):
    x = torch.randn(33, 17, dtype=dtype).requires_grad_()
    out = training(0.4)(x)
    out.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad == 0, out == 0) and 0 < (out == 0).sum() < out.numel()
    torch.testing.assert_close(x.grad * x.detach(), out.detach())


VIEWS: dict[str, Callable[[Tensor], Tensor]] = {
    "transposed": lambda x: x.T,
    "strided": lambda x: x[:, ::2],
    "expanded": lambda x: x[:1].expand(9, -1),
    "heads": lambda x: x.unflatten(1, (2, 4)).transpose(0, 1),
}


@pytest.mark.parametrize("view", VIEWS)
def test_an_input_that_does_not_lie_in_one_piece(view: str):
    x = VIEWS[view](torch.randn(9, 8) + 10.0)
    before = x.clone()
    torch.manual_seed(3)
    out = training(0.5)(x)
    torch.manual_seed(3)
    assert torch.equal(out, training(0.5)(x.contiguous()))
    assert torch.equal(x, before)


def test_each_part_of_a_model_takes_its_probability():
    """A published mistake: a dropout argument that is accepted and never used."""
    model = build(odd_config(dropout=0.3, dropout_pattern=0.2))
    probabilities = {name: part.probability for name, part in model.named_modules() if isinstance(part, Dropout)}
    assert {p for name, p in probabilities.items() if name.endswith("dropout_pattern")} == {0.2}
    assert {p for name, p in probabilities.items() if not name.endswith("dropout_pattern")} == {0.3}
    # Each attention has one of either kind (2 + 4), each feed-forward (2 + 2) and each stack's sum (2) one.
    assert len(probabilities) == 2 * 6 + 4 + 2


@pytest.mark.parametrize("probability", [0.99999, 0.999999, 1 - 2**-30])
def test_nearly_everything_may_be_dropped(probability: float):
    """Whatever the configuration allows: rounded, the probability is not 1."""
    out = training(probability)(torch.ones(1000))
    assert out.isfinite().all()
