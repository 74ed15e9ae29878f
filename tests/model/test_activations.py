"""Activations against their formulas, number by number."""

import math

import pytest
import torch

from transformer_core.config import Activation
from transformer_core.model.activations import ACTIVATIONS


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
