"""Each mistake is made for real, and does what it is known for; the shipped model is left unchanged."""

import numpy as np
import pytest
import torch

from pages.learn.tour.lesson_engine.lesson import ExpressionError
from pages.learn.tour.lesson_engine.mistakes import MISTAKES, UnbiasedNorm
from pages.learn.tour.lesson_engine.run import run
from tests.pages.learn.tour.lesson_engine.conftest import MakeEvidence, array, load
from transformer_core.errors import ConfigError
from transformer_core.model.attention import MultiHeadAttention
from transformer_core.model.block import Block
from transformer_core.model.norms import LayerNorm

CAT = "The cat sees the dog."


def test_dropped_patterns_hold_zeros_and_doubles(make_evidence: MakeEvidence):
    evidence = make_evidence("en-fr", CAT, mistake="dropped_pattern")
    wrong, right = array(evidence, "pattern[encoder, 0]"), array(evidence, "right.pattern[encoder, 0]")
    assert np.all(np.isclose(wrong, 0) | np.isclose(wrong, 2 * right, atol=1e-6))
    assert 0.3 < np.isclose(wrong, 0).mean() < 0.7


def test_the_mask_lies_on_the_other_attention(make_evidence: MakeEvidence):
    evidence = make_evidence("en-fr", CAT, mistake="mask_on_cross")
    assert array(evidence, "mask[decoder]").all()
    assert (array(evidence, "mask[cross]") == np.tril(np.ones((7, 7)))).all()
    assert np.triu(array(evidence, "pattern[decoder, 0, 0]"), k=1).max() > 0.05


def test_axes_are_swapped_in_the_drawing_only(make_evidence: MakeEvidence):
    evidence = make_evidence("en-fr", CAT, mistake="axes_swapped")
    for attention in ("encoder", "decoder", "cross"):
        right = array(evidence, f"right.pattern[{attention}, 1, 2]")
        np.testing.assert_array_equal(array(evidence, f"pattern[{attention}, 1, 2]"), right.T)
    np.testing.assert_array_equal(array(evidence, "logits"), array(evidence, "right.logits"))


def test_roles_are_swapped(make_evidence: MakeEvidence):
    """The wrong scores by hand: queries of the encoder's output, keys of the decoder's stream."""
    evidence = make_evidence("en-fr", CAT, mistake="roles_swapped")
    model, _ = load("en-fr")
    attention = model.get_submodule("decoder.blocks.0.cross_attn")
    assert isinstance(attention, MultiHeadAttention)
    memory = torch.tensor(array(evidence, "right.normalized[encoder, 1, ln2]"), dtype=torch.float32)
    states = torch.tensor(array(evidence, "right.normalized[decoder, 0, ln1]"), dtype=torch.float32)
    with torch.inference_mode():
        q = attention.q(memory).unflatten(-1, (4, 32)).transpose(0, 1)
        k = attention.k(states).unflatten(-1, (4, 32)).transpose(0, 1)
        by_hand = (q @ k.transpose(-1, -2) / 32**0.5).softmax(dim=-1)
    np.testing.assert_allclose(array(evidence, "pattern[cross, 0]"), by_hand.numpy(), atol=1e-5)


def test_swapped_roles_need_as_many_tokens_on_both_sides(make_evidence: MakeEvidence):
    evidence = make_evidence("en-fr", "The king and the queen came back from the market.", mistake="roles_swapped")
    with pytest.raises(ExpressionError, match=r"\(12\), but the decoder has 11 tokens"):
        evidence.ask("logits")


def test_scores_are_divided_by_the_wrong_width(make_evidence: MakeEvidence):
    evidence = make_evidence("en-fr", CAT, mistake="scaled_by_d_model")
    q, k = array(evidence, "q[encoder, 0, 1]"), array(evidence, "k[encoder, 0, 1]")
    np.testing.assert_allclose(array(evidence, "scores[encoder, 0, 1]"), q @ k.T / 128**0.5, atol=1e-4)


def test_the_wrong_norm_by_hand():
    x = torch.randn(5, 6, dtype=torch.float64)
    wrong = UnbiasedNorm(6, eps=0.1).double()
    by_hand = (x - x.mean(-1, keepdim=True)) / (((x - x.mean(-1, keepdim=True)) ** 2).sum(-1, keepdim=True) / 5) ** 0.5
    wrong.eps = 0.0
    torch.testing.assert_close(wrong(x), by_hand)
    assert not torch.allclose(wrong(x), LayerNorm(6, 1e-5).double()(x), atol=1e-2)


def test_padding_is_attended_to_and_changes_nothing_where_it_is_masked(make_evidence: MakeEvidence):
    tired = "The animal didn't cross the street because it was too tired."
    evidence = make_evidence("en-fr", tired, mistake="padding_not_masked", padding=6)
    for attention in ("encoder", "cross"):
        assert array(evidence, f"mask[{attention}]").all()
        right = array(evidence, f"right.pattern[{attention}, 1]")
        assert right.shape[-1] == 19 and right[..., 13:].max() == 0
        assert array(evidence, f"pattern[{attention}, 1]")[..., 13:].sum(axis=-1).max() > 0.5
    unpadded = make_evidence("en-fr", tired)
    np.testing.assert_allclose(array(evidence, "right.logits"), array(unpadded, "logits"), atol=1e-4)
    assert np.abs(array(evidence, "logits") - array(unpadded, "logits")).max() > 1


def test_a_text_without_a_source_cannot_be_padded():
    with pytest.raises(ConfigError, match="no source that could be padded"):
        run(*load("induction"), "moon river", padding=2)


def test_without_positions_a_shuffled_text_has_the_same_patterns_shuffled(make_evidence: MakeEvidence):
    texts = ("The cat sees the dog.", "dog sees The the cat.")
    places = [2, 4, 1, 3, 0, 5, 6]  # of the words of the first in the second
    one, other = (make_evidence("en-fr", text, mistake="positions_left_out") for text in texts)
    assert [other.run.model_run.source[place] for place in places] == [*one.run.model_run.source]
    for layer in (0, 1):
        first, second = (array(evidence, f"pattern[encoder, {layer}]") for evidence in (one, other))
        np.testing.assert_allclose(first, second[:, places][:, :, places], atol=1e-5)


def test_without_residual_connections_a_layer_by_hand(make_evidence: MakeEvidence):
    """LN(FFN(LN(attention))), with torch's own functions."""
    evidence = make_evidence("en-fr", CAT, mistake="no_residual")
    model, _ = load("en-fr")
    block = model.get_submodule("encoder.blocks.0")
    assert isinstance(block, Block) and isinstance(block.ln1, LayerNorm)
    attended = torch.tensor(array(evidence, "right.attn_out[encoder, 0]"), dtype=torch.float32)
    with torch.inference_mode():
        h = torch.nn.functional.layer_norm(attended, (128,), block.ln1.weight, block.ln1.bias, block.ln1.eps)
        written = block.mlp(h[None])[0]
    np.testing.assert_allclose(array(evidence, "resid_mid[encoder, 0]"), attended, atol=1e-4)
    np.testing.assert_allclose(array(evidence, "resid_post[encoder, 0]"), written, atol=1e-4)


def test_heads_are_reshaped_as_they_lie_in_memory(make_evidence: MakeEvidence):
    """What W_O reads by hand: NumPy's reshape of the heads' outputs, without a transpose."""
    evidence = make_evidence("en-fr", CAT, mistake="heads_reshaped")
    model, _ = load("en-fr")
    attention = model.get_submodule("encoder.blocks.0.self_attn")
    assert isinstance(attention, MultiHeadAttention)
    right = array(evidence, "right.z[encoder, 0]")  # [head, query, d_head]
    weight, bias = (of.detach().numpy().astype(np.float64) for of in (attention.out.weight, attention.out.bias))
    by_hand = right.reshape(7, 128) @ weight.T + bias
    np.testing.assert_allclose(array(evidence, "attn_out[encoder, 0]"), by_hand, atol=1e-3)


def test_a_second_softmax_leaves_the_order_and_little_else(make_evidence: MakeEvidence):
    evidence = make_evidence("en-fr", CAT, mistake="softmax_twice")
    raised = np.exp(array(evidence, "right.probs"))
    np.testing.assert_allclose(array(evidence, "probs"), raised / raised.sum(axis=-1, keepdims=True), atol=1e-7)


def test_the_shipped_model_stays_as_it_is(make_evidence: MakeEvidence):
    model, _ = load("en-fr")
    before = {name: value.clone() for name, value in model.state_dict().items()}
    types = [type(module) for module in model.modules()]
    for name, mistake in MISTAKES.items():
        if not mistake.is_in_training:
            make_evidence("en-fr", CAT, mistake=name).ask("logits")
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert [type(module) for module in model.modules()] == types
    scales = [module.scale for module in model.modules() if isinstance(module, MultiHeadAttention)]
    assert scales == pytest.approx([32**-0.5] * 6)
