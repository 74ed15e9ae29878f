"""Activations against their formulas, number by number; the one for the compiler against torch's own."""

import math

import pytest
import torch
from torch.nn import functional as F

from transformer_core.config import Activation
from transformer_core.model.activations import ACTIVATIONS, _GeluWithSlope


def tanh_gelu(x: float) -> float:
    """Hendrycks and Gimpel 2016, sec. 2."""
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


BY_HAND = {
    "relu": lambda x: max(0.0, x),
    "gelu": lambda x: x * 0.5 * (1 + math.erf(x / math.sqrt(2))),  # x times the normal distribution's Phi
    "gelu_tanh": tanh_gelu,
    "silu": lambda x: x / (1 + math.exp(-x)),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_are_their_formulas(name: Activation):
    x = torch.linspace(-9, 9, 181, dtype=torch.float64)
    expected = torch.tensor([BY_HAND[name](value) for value in x.tolist()], dtype=torch.float64)
    torch.testing.assert_close(ACTIVATIONS[name](x), expected, rtol=0, atol=1e-12)
    assert set(ACTIVATIONS) == set(BY_HAND)


def test_with_its_slope_it_is_the_same_function_to_the_precision_of_floats():
    """The oracle is torch's, in double precision."""
    x = torch.cat([torch.linspace(-12, 12, 40_001), torch.tensor([-100.0, -0.0, 1e-30, 100.0])])
    grad = torch.linspace(-2, 3, len(x))
    exact, ours = x.double().requires_grad_(), x.clone().requires_grad_()
    expected, found = F.gelu(exact), _GeluWithSlope.apply(ours)
    torch.testing.assert_close(found.double(), expected, rtol=3e-7, atol=6e-7)
    expected.backward(grad.double())
    found.backward(grad)
    assert exact.grad is not None
    assert ours.grad is not None
    torch.testing.assert_close(ours.grad.double(), exact.grad, rtol=0, atol=2e-6)
