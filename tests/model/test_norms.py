"""Layer normalization and its relatives by hand, and torch's own."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import transformer_core as tc
from tests.model import by_hand
from tests.model.building import odd_config, shaken
from transformer_core.model.norms import LayerNorm, NoNorm, RMSNorm, build_norm


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
    assert {name: value.shape for name, value in built.named_parameters()} == dict.fromkeys(parameters, (7,))


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
