"""Layer normalization by hand, and torch's own."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import transformer_core as tc
from tests.model import by_hand
from tests.model.building import shaken
from transformer_core.model.norms import LayerNorm


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


@pytest.mark.parametrize("d_model", [48, 512])
def test_torch_s_layer_norm_in_float32(d_model: int):
    norm, twin = shaken(LayerNorm(d_model, 1e-5)), torch.nn.LayerNorm(d_model, 1e-5)
    twin.load_state_dict(norm.state_dict())
    x = torch.randn(3, 7, d_model)
    torch.testing.assert_close(norm(x), twin(x), rtol=0, atol=1e-5)


def test_the_variance_is_biased_and_eps_is_inside_the_root():
    """A published mistake: the unbiased standard deviation, and eps added outside of the root."""
    x = torch.randn(2, 3, 6, generator=torch.Generator().manual_seed(0))
    ours, centred = LayerNorm(6, eps=0.1)(x), x - x.mean(dim=-1, keepdim=True)
    biased, unbiased = x.var(dim=-1, keepdim=True, correction=0), x.var(dim=-1, keepdim=True, correction=1)
    torch.testing.assert_close(ours, centred / (biased + 0.1).sqrt())
    assert not torch.allclose(ours, centred / (unbiased + 0.1).sqrt(), atol=1e-2)
    assert not torch.allclose(ours, centred / (biased.sqrt() + 0.1), atol=1e-2)


def test_it_starts_as_plain_normalization():
    out = LayerNorm(48, 1e-5)(torch.randn(2, 3, 48) * 5 + 2)
    torch.testing.assert_close(out.mean(dim=-1), torch.zeros(2, 3), rtol=0, atol=1e-6)
    torch.testing.assert_close(out.var(dim=-1, correction=0), torch.ones(2, 3), rtol=0, atol=1e-5)


def test_its_site_is_what_it_hands_on():
    norm = shaken(LayerNorm(6, 1e-5))
    with tc.capture(norm) as acts:
        out = norm(torch.randn(1, 2, 6))
    assert torch.equal(acts["hook_normalized"], out)
