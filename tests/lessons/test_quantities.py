"""What a lesson can ask for: the model's own tensors, captured here by hand."""

import math

import numpy as np
import pytest
import torch

import transformer_core as tc
from tests.lessons.conftest import MakeEvidence, load
from transformer_core.lessons.faults import ExpressionError
from transformer_core.lessons.quantities import QUANTITIES
from transformer_core.lessons.value import Values
from transformer_core.model.transformer import Transformer

CAT = "The cat sees the dog."


@pytest.fixture(scope="module")
def acts() -> dict[str, np.ndarray]:
    """All sites of en-fr on the sentence, captured without the lessons."""
    model, tokenizer = load("en-fr")
    assert isinstance(model, Transformer)
    src = torch.tensor([tokenizer.encode_for(CAT, "encoder_decoder")])
    tokens = tc.greedy_decode(model, src).tokens
    with torch.inference_mode(), tc.capture(model) as captured:
        logits = model(src, tokens[:, :-1])
    return {name: value[0].numpy() for name, value in captured.items()} | {"logits": logits[0].numpy()}


@pytest.mark.parametrize(
    ("source", "site", "index"),
    [
        ("pattern[cross, 1, 3]", "decoder.blocks.1.cross_attn.hook_pattern", (3,)),
        ("scores[decoder, 0, 2]", "decoder.blocks.0.self_attn.hook_attn_scores", (2,)),
        ("pattern[encoder, 1]", "encoder.blocks.1.self_attn.hook_pattern", ()),
        ("q[encoder, 0, 1]", "encoder.blocks.0.self_attn.hook_q", (1,)),
        ("k[cross, 0, 1]", "decoder.blocks.0.cross_attn.hook_k", (1,)),
        ("v[cross, 0, 1]", "decoder.blocks.0.cross_attn.hook_v", (1,)),
        ("z[decoder, 1, 0]", "decoder.blocks.1.self_attn.hook_z", (0,)),
        ("result[encoder, 0, 3]", "encoder.blocks.0.self_attn.hook_result", (3,)),
        ("attn_out[cross, 1]", "decoder.blocks.1.cross_attn.hook_attn_out", ()),
        ("mask[decoder]", "decoder.blocks.0.self_attn.hook_mask", (0,)),
        ("embed[decoder]", "decoder.hook_embed", ()),
        ("pos_embed[encoder]", "encoder.hook_pos_embed", ()),
        ("resid_mid_cross[decoder, 1]", "decoder.blocks.1.hook_resid_mid_cross", ()),
        ("mlp_post[decoder, 1]", "decoder.blocks.1.mlp.hook_post", ()),
        ("normalized[encoder, 0, ln2]", "encoder.blocks.0.ln2.hook_normalized", ()),
        ("logits", "logits", ()),
    ],
)
def test_a_quantity_is_what_the_model_held(make_evidence: MakeEvidence, acts, source: str, site: str, index: tuple):
    found = make_evidence("en-fr", CAT).ask(source)
    assert isinstance(found, Values)
    np.testing.assert_array_equal(found.array, acts[site][index])


def test_probabilities_and_tables(make_evidence: MakeEvidence, acts):
    evidence = make_evidence("en-fr", CAT)
    probs = evidence.ask("probs")
    assert isinstance(probs, Values)
    np.testing.assert_allclose(probs.array, torch.tensor(acts["logits"]).softmax(dim=-1).numpy(), atol=1e-6)
    assert evidence.ask('argmax(probs at writing "chat")') == "chat"
    assert evidence.told("positions[10, 6] at pos 4, d_model 3", 4) == f"{math.cos(4 / 10000 ** (2 / 6)):.4f}"
    assert evidence.told("d_head * n_heads - d_model") == "0"
    assert evidence.ask("output") == "Le chat voit le chien."


def test_standardized_vectors_are_what_layer_norm_makes_before_its_weights(make_evidence: MakeEvidence, acts):
    found = make_evidence("en-fr", CAT).ask("standardized[encoder, 0, ln1]")
    assert isinstance(found, Values)
    x = acts["encoder.blocks.0.hook_resid_mid"].astype(np.float64)
    by_hand = (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(found.array, by_hand, atol=1e-4)


def test_every_quantity_can_be_asked_for(make_evidence: MakeEvidence):
    """In its right form it is there; with something else in its brackets it says what to write."""
    given = {
        "attention, layer, head": "decoder, 0, 0",
        "attention, layer": "decoder, 0",
        "attention": "decoder",
        "stack": "decoder",
        "stack, layer": "decoder, 0",
        "stack, layer, norm": "decoder, 0, ln1",
        "n, width": "4, 6",
        "side": "target",
        "n": "2",
        "beams, n": "2, 2",
        "": "",
    }
    evidence = make_evidence("en-fr", CAT)
    for name, quantity in QUANTITIES.items():
        evidence.ask(f"{name}[{given[quantity.parts]}]" if quantity.parts else name)
        with pytest.raises(ExpressionError):
            evidence.ask(f"{name}[1, 1, 1, 1]")


@pytest.mark.parametrize(
    ("source", "part"),
    [
        ("pattern[cross, 7, 0]", "no layer “7”, only 0 to 1"),
        ("pattern[cross, 0, 9]", "no head 9, only 0 to 3"),
        ("pattern[middle, 0, 0]", "no attention “middle”"),
        ("embed[middle]", "no stack “middle”"),
        ("normalized[encoder, 0, ln9]", "no site"),
        ("nothing", "nothing called “nothing”"),
        ("positions[10, 7]", "even width"),
        ("trained[2]", "smoothing"),
    ],
)
def test_what_the_model_has_not_is_said(make_evidence: MakeEvidence, source: str, part: str):
    with pytest.raises(ExpressionError, match=part):
        make_evidence("en-fr", CAT).ask(source)


def test_the_other_text(make_evidence: MakeEvidence):
    evidence = make_evidence("en-fr", CAT, other="The dog sees the cat.")
    assert evidence.ask("other output") == "Le chien voit le chat."
    assert evidence.ask("output") == "Le chat voit le chien."


@pytest.mark.slow
def test_searches_are_those_of_the_core(make_evidence: MakeEvidence):
    model, tokenizer = load("stories")
    text = "Once there was a boy named Ben who lived by the sea."
    prompt = torch.tensor([tokenizer.encode_for(text, "decoder_only")])
    greedy = tc.greedy_decode(model, prompt, max_new_tokens=6).log_probs[0, prompt.shape[1] - 1 :].sum()
    beams = tc.beam_search(model, prompt, max_new_tokens=6, n_beams=3, length_penalty=0.6, penalty_form="paper")
    evidence = make_evidence("stories", text)
    assert float(evidence.told("greedy_log_prob[6]", 4).replace("−", "-")) == pytest.approx(float(greedy), abs=1e-3)
    told = float(evidence.told("beam_log_prob[3, 6]", 4).replace("−", "-"))
    assert told == pytest.approx(float(beams.log_probs[0, prompt.shape[1] - 1 :].sum()), abs=1e-3)
