"""Layer normalization and its relatives by hand, and torch's own."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import transformer_core as tc
from tests.model import by_hand
from tests.model.building import odd_config, shaken
from transformer_core.model.norms import LayerNorm, NoNorm, RMSNorm, build_norm


def test_by_hand():
    """1, 2, 3, 6: mean 3, biased variance (4 + 1 + 0 + 9) / 4 = 3.5."""
    norm = LayerNorm(4, eps=0.5)
    expected = torch.tensor([[[-1.0, -0.5, 0.0, 1.5]]])  # over sqrt(3.5 + 0.5) = 2
    torch.testing.assert_close(norm(torch.tensor([[[1.0, 2.0, 3.0, 6.0]]])), expected)


@settings(max_examples=25)
@given(st.integers(1, 3), st.integers(1, 5), st.integers(1, 48), st.sampled_from([1e-12, 1e-5, 0.1]))
def test_by_hand_is_torch_s_is_ours(batch: int, n_positions: int, d_model: int, eps: float):
    torch.manual_seed(batch)
    norm, twin = shaken(LayerNorm(d_model, eps)).double(), torch.nn.LayerNorm(d_model, eps).double()
    twin.load_state_dict(norm.state_dict())
    x = torch.randn(batch, n_positions, d_model, dtype=torch.float64) * 3 + 7
    expected = torch.from_numpy(by_hand.layer_norm(by_hand.Weights.of(norm), x.numpy(), eps))
    torch.testing.assert_close(twin(x).detach(), expected, rtol=0, atol=1e-8)
    torch.testing.assert_close(norm(x), twin(x), rtol=0, atol=1e-12)


def test_the_variance_is_biased_and_eps_is_inside_the_root():
    """A published mistake: the unbiased standard deviation, and eps added outside of the root."""
    x = torch.randn(2, 3, 6, generator=torch.Generator().manual_seed(0))
    ours, centred = LayerNorm(6, eps=0.1)(x), x - x.mean(dim=-1, keepdim=True)
    biased, unbiased = x.var(dim=-1, keepdim=True, correction=0), x.var(dim=-1, keepdim=True, correction=1)
    torch.testing.assert_close(ours, centred / (biased + 0.1).sqrt())
    assert not torch.allclose(ours, centred / (unbiased + 0.1).sqrt(), atol=1e-2)
    assert not torch.allclose(ours, centred / (biased.sqrt() + 0.1), atol=1e-2)


def test_without_a_bias_nothing_is_added():
    with_bias, without = shaken(LayerNorm(6, 1e-5)), LayerNorm(6, 1e-5, has_bias=False)
    without.load_state_dict({"weight": with_bias.weight})
    x = torch.randn(2, 3, 6)
    assert [name for name, _ in without.named_parameters()] == ["weight"]
    torch.testing.assert_close(without(x), with_bias(x) - with_bias.bias)


def test_root_mean_square_by_hand():
    """1, 2, 3, 6: mean of the squares (1 + 4 + 9 + 36) / 4 = 12.5; the mean itself stays in."""
    norm = RMSNorm(4, eps=3.5)
    norm.load_state_dict({"weight": torch.tensor([1.0, 1.0, 2.0, 1.0])})
    expected = torch.tensor([[[0.25, 0.5, 1.5, 1.5]]])  # over sqrt(12.5 + 3.5) = 4, times the weight
    torch.testing.assert_close(norm(torch.tensor([[[1.0, 2.0, 3.0, 6.0]]])), expected)
    assert [name for name, _ in norm.named_parameters()] == ["weight"]


@pytest.mark.parametrize("eps", [1e-12, 1e-6, 0.1])
def test_root_mean_square_in_float64(eps: float):
    norm, x = shaken(RMSNorm(48, eps)).double(), torch.randn(2, 3, 48, dtype=torch.float64) * 3 + 7
    expected = x / (x.square().sum(dim=-1, keepdim=True) / 48 + eps) ** 0.5 * norm.weight
    torch.testing.assert_close(norm(x), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "norm, kind, parameters",
    [
        ("layer", LayerNorm, ["weight", "bias"]),
        ("layer_without_bias", LayerNorm, ["weight"]),
        ("rms", RMSNorm, ["weight"]),
    ],
)
def test_the_configuration_names_one(norm: str, kind: type, parameters: list[str]):
    built = build_norm(odd_config(norm=norm, layer_norm_eps=0.25), 7)
    assert isinstance(built, kind) and built.eps == 0.25
    assert [name for name, _ in built.named_parameters()] == parameters
    assert built.weight.shape == (7,)
    x = torch.randn(1, 2, 7)
    with tc.capture(built, "*") as acts:
        out = built(x)
    assert torch.equal(acts["hook_normalized"], out)


def test_none_hands_on_what_it_is_given():
    built = build_norm(odd_config(norm="none", norm_position="pre"), 7)
    x = torch.randn(1, 2, 7)
    assert isinstance(built, NoNorm) and not [*built.parameters()]
    with tc.capture(built, "*") as acts:
        assert torch.equal(built(x), x)
    assert torch.equal(acts["hook_normalized"], x)


def test_root_mean_square_of_16_bits_with_weights_of_32(recwarn: pytest.WarningsRecorder):
    """As mixed precision has it: torch's kernel takes one type, and warns of two."""
    norm, x = RMSNorm(8, 1e-6), torch.randn(3, 8).bfloat16()
    with torch.no_grad():
        norm.weight.copy_(torch.linspace(0.5, 2, 8))
    assert norm(x).dtype == torch.bfloat16
    torch.testing.assert_close(norm(x).float(), norm(x.float()), rtol=2**-7, atol=2**-7)
    assert not recwarn.list
