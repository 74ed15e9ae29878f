"""Each mistake is made for real, and does what it is known for; the shipped model stays as it is."""

import numpy as np
import pytest
import torch

from pages.learn.tour.lesson_engine.errors import ExpressionError
from pages.learn.tour.lesson_engine.mistakes import MISTAKES, UnbiasedNorm
from pages.learn.tour.lesson_engine.value import Values
from tests.pages.learn.tour.lesson_engine.conftest import MakeEvidence, load
from transformer_core.model.attention import MultiHeadAttention
from transformer_core.model.norms import LayerNorm

pytestmark = pytest.mark.slow

CAT = "The cat sees the dog."


def array(evidence, source: str) -> np.ndarray:
    found = evidence.ask(source)
    assert isinstance(found, Values)
    return found.array.astype(np.float64)


def test_dropped_patterns_hold_zeros_and_doubles(make_evidence: MakeEvidence):
    evidence = make_evidence("en-fr", CAT, mistake="dropped_pattern")
    wrong, right = array(evidence, "pattern[encoder, 0]"), array(evidence, "right pattern[encoder, 0]")
    assert np.all(np.isclose(wrong, 0) | np.isclose(wrong, 2 * right, atol=1e-6))
    assert 0.3 < np.isclose(wrong, 0).mean() < 0.7
    assert np.abs(wrong.sum(axis=-1) - 1).max() > 0.1


def test_the_mask_lies_on_the_other_attention(make_evidence: MakeEvidence):
    evidence = make_evidence("en-fr", CAT, mistake="mask_on_cross")
    assert array(evidence, "mask[decoder]").all()
    assert (array(evidence, "mask[cross]") == np.tril(np.ones((7, 7)))).all()
    future = np.triu(array(evidence, "pattern[decoder, 0, 0]"), k=1)
    assert future.max() > 0.05
    assert np.triu(array(evidence, "pattern[cross, 0, 0]"), k=1).max() == 0


def test_axes_are_swapped_in_the_drawing_only(make_evidence: MakeEvidence):
    evidence = make_evidence("en-fr", CAT, mistake="axes_swapped")
    for attention in ("encoder", "decoder", "cross"):
        wrong, right = (array(evidence, f"{of}pattern[{attention}, 1, 2]") for of in ("", "right "))
        np.testing.assert_array_equal(wrong, right.T)
    np.testing.assert_array_equal(array(evidence, "logits"), array(evidence, "right logits"))


def test_roles_are_swapped(make_evidence: MakeEvidence):
    """The wrong scores by hand: queries of the encoder's output, keys of the decoder's stream."""
    evidence = make_evidence("en-fr", CAT, mistake="roles_swapped")
    model, _ = load("en-fr")
    attention = model.get_submodule("decoder.blocks.0.cross_attn")
    assert isinstance(attention, MultiHeadAttention)
    memory = torch.tensor(array(evidence, "right normalized[encoder, 1, ln2]"), dtype=torch.float32)
    states = torch.tensor(array(evidence, "right normalized[decoder, 0, ln1]"), dtype=torch.float32)
    with torch.inference_mode():
        q = attention.q(memory).unflatten(-1, (4, 32)).transpose(0, 1)
        k = attention.k(states).unflatten(-1, (4, 32)).transpose(0, 1)
        by_hand = (q @ k.transpose(-1, -2) / 32**0.5).softmax(dim=-1)
    np.testing.assert_allclose(array(evidence, "pattern[cross, 0]"), by_hand.numpy(), atol=1e-5)
    found = evidence.ask("pattern[cross, 0, 0]")
    assert isinstance(found, Values)
    assert [axis.labels for axis in found.axes] == [
        ("The", "cat", "sees", "the", "dog", ".", "<eos>"),
        ("<bos>", "le", "chat", "voit", "le", "chien", "."),
    ]


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
    assert not torch.allclose(wrong(x), by_hand)  # eps is not small here
    wrong.eps = 0.0
    torch.testing.assert_close(wrong(x), by_hand)
    assert not torch.allclose(wrong(x), LayerNorm(6, 1e-5).double()(x), atol=1e-2)


def test_the_shipped_model_stays_as_it_is(make_evidence: MakeEvidence):
    model, _ = load("en-fr")
    before = {name: value.clone() for name, value in model.state_dict().items()}
    for mistake in ("scaled_by_d_model", "unbiased_norm", "roles_swapped"):
        make_evidence("en-fr", CAT, mistake=mistake).ask("logits")
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert {type(module) for module in model.modules() if isinstance(module, LayerNorm)} == {LayerNorm}
    attentions = [module for module in model.modules() if isinstance(module, MultiHeadAttention)]
    assert {type(attention) for attention in attentions} == {MultiHeadAttention}
    assert [attention.scale for attention in attentions] == pytest.approx([32**-0.5] * 6)


def test_there_are_seven():
    assert len(MISTAKES) == 7
    assert len({mistake.title for mistake in MISTAKES.values()}) == 7
