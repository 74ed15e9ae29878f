"""The position-wise network as two convolutions; its activation and its gate."""

import math

import numpy as np
import pytest
import torch
from torch import nn

import transformer_core as tc
from tests.model import by_hand
from tests.model.building import odd_config, shaken
from transformer_core.config import Activation
from transformer_core.model.feed_forward import ACTIVATIONS, FeedForward


def tanh_gelu(x: float) -> float:
    """Hendrycks and Gimpel 2016, sec. 2."""
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


BY_HAND = {
    "relu": lambda x: max(0.0, x),
    "gelu": lambda x: x * 0.5 * (1 + math.erf(x / math.sqrt(2))),  # x times the normal distribution's Phi
    "gelu_tanh": tanh_gelu,
    "silu": lambda x: x / (1 + math.exp(-x)),
    "squared_relu": lambda x: max(0.0, x) ** 2,
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_are_their_formulas(name: Activation):
    x = torch.linspace(-9, 9, 181, dtype=torch.float64)
    expected = torch.tensor([BY_HAND[name](value) for value in x.tolist()], dtype=torch.float64)
    torch.testing.assert_close(ACTIVATIONS[name](x), expected, rtol=0, atol=1e-12)
    assert set(ACTIVATIONS) == set(BY_HAND)


def test_it_is_two_convolutions_of_kernel_size_1():
    """Source: Vaswani et al. 2017, sec. 3.3."""
    ffn, x = shaken(FeedForward(odd_config())), torch.randn(2, 7, 48)
    first, second = nn.Conv1d(48, 80, kernel_size=1), nn.Conv1d(80, 48, kernel_size=1)
    first.load_state_dict({"weight": ffn.up.weight[..., None], "bias": ffn.up.bias})
    second.load_state_dict({"weight": ffn.down.weight[..., None], "bias": ffn.down.bias})
    expected = second(first(x.transpose(1, 2)).relu()).transpose(1, 2)
    torch.testing.assert_close(ffn(x), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", BY_HAND)
def test_the_network_takes_the_activation_that_the_configuration_names(name: str):
    ffn, x = shaken(FeedForward(odd_config(activation=name))), torch.randn(1, 3, 48)
    with tc.capture(ffn, "*") as acts:
        ffn(x)
    expected = [BY_HAND[name](value) for value in acts["hook_pre"].flatten().tolist()]
    torch.testing.assert_close(acts["hook_post"].flatten(), torch.tensor(expected), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", BY_HAND)
@pytest.mark.parametrize("feed_forward_bias", [True, False])
def test_gated_is_the_formula(name: str, feed_forward_bias: bool):
    """(activation(x W_gate) * (x W_1)) W_2. Source: Shazeer 2020, eq. (6), there without biases."""
    ffn = shaken(FeedForward(odd_config(activation=name, gated=True, feed_forward_bias=feed_forward_bias))).double()
    x = torch.randn(2, 3, 48, dtype=torch.float64)
    weights = by_hand.Weights.of(ffn)
    gate, up = weights.linear("gate", x.numpy()), weights.linear("up", x.numpy())
    activated = np.vectorize(BY_HAND[name])(gate)
    expected = weights.linear("down", activated * up)
    torch.testing.assert_close(ffn(x).detach(), torch.from_numpy(expected), rtol=0, atol=1e-12)
    has_bias = {name.rpartition(".")[0] for name in ffn.state_dict() if name.endswith("bias")}
    assert has_bias == ({"gate", "up", "down"} if feed_forward_bias else set())
