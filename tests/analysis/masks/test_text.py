"""The texts of the mask laboratory: what a model is given, and what it is asked for."""

import json
import math

import pytest
import torch

import transformer_core as tc
from tests.e2e.browser import ROOT
from transformer_core.analysis import run_text
from transformer_core.analysis.masks.rules import MaskChoice
from transformer_core.analysis.masks.run import run_masked
from transformer_core.analysis.masks.text import mask_text

TEXTS = {
    "encoder_decoder": "The cat sees the dog.",
    "decoder_only": "The cat sees",
    "encoder_only": "The ____ sees the dog.",
}


@pytest.mark.slow
@pytest.mark.parametrize("architecture", TEXTS)
def test_it_is_the_text_that_is_read_elsewhere(make, architecture: str):
    model, tokenizer = make(architecture)
    text = mask_text(model, tokenizer, TEXTS[architecture])
    model_run = run_text(model, tokenizer, TEXTS[architecture])
    assert tuple(text.inputs.values()) == model_run.inputs
    sides = {"source": model_run.source, "target": model_run.target}
    assert dict(text.labels) == {side: sides[side] for side in text.inputs}
    assert len(text.judged) == len(text.expected) == len(text.expected_labels)
    if architecture == "encoder_only":
        assert text.judged == tuple(blank.position for blank in model_run.blanks)
    else:
        target = text.inputs["target"]
        assert text.judged == tuple(range(len(text.expected))) and len(target) - len(text.expected) in (0, 1)
        assert text.expected[: len(target) - 1] == target[1:]  # the target of each is the token after it


def test_padding_stands_behind_and_goes_again(make):
    model, tokenizer = make("encoder_decoder")
    text = mask_text(model, tokenizer, TEXTS["encoder_decoder"])
    padded = text.padded(tokenizer, 0, ("source",), 2)
    assert padded.inputs["source"] == (*text.inputs["source"], 0, 0)
    assert padded.labels["source"][-2:] == ("<pad>", "<pad>")
    assert padded.inputs["target"] == text.inputs["target"]
    assert padded.n_padding == {"source": 2, "target": 0} and padded.n_real == text.n_real
    assert padded.without_padding() == text
    assert text.padded(tokenizer, None, ("source",), 2) == text


def test_unshifted_the_decoder_is_given_what_it_is_asked_for(make):
    model, tokenizer = make("decoder_only")
    text = mask_text(model, tokenizer, TEXTS["decoder_only"])
    given = text.unshifted()
    assert given.inputs["target"] == given.expected == text.expected
    assert given.inputs["target"][: len(text.inputs["target"]) - 1] == text.inputs["target"][1:]
    assert not given.is_shifted and text.is_shifted
    assert given.n_real["target"] == len(text.expected) == len(text.targeted().inputs["target"])


def test_a_long_text_is_cut(make):
    model, tokenizer = make("encoder_decoder", max_seq_len=40)
    text = mask_text(model, tokenizer, "The cat sees the dog. " * 9, max_tokens=12)
    assert all(len(tokens) <= 12 for tokens in text.inputs.values())
    assert text.left_out and text.inputs["source"][-1] == model.config.eos_id


def test_without_a_blank_an_encoder_is_asked_for_every_token(make):
    model, tokenizer = make("encoder_only")
    text = mask_text(model, tokenizer, "The cat sees the dog.")
    assert text.expected == text.inputs["source"]
    assert text.expected_labels == text.labels["source"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["stories", "induction"])
def test_a_target_is_a_token_that_follows(name: str):
    """Where the text is cut, nobody knows what follows the last token, and it has no target; else <eos> follows."""
    model, tokenizer = tc.load(str(ROOT / "checkpoints" / name))
    (prompt, *_) = json.loads((ROOT / "checkpoints" / name / "card.json").read_text())["examples"]
    text = mask_text(model, tokenizer, prompt)
    tokens = torch.tensor([text.inputs["target"]])
    is_cut = name == "stories"
    follows = (*text.inputs["target"][1:], *(() if is_cut else (model.config.eos_id,)))
    assert text.expected == follows and text.expected_labels == tuple(tokenizer.labels(follows))
    with torch.inference_mode():
        log_probs = model(tokens)[0].double().log_softmax(dim=-1)
    own = sum(float(log_probs[place, token]) for place, token in enumerate(follows)) / len(follows)
    said = run_masked(model, tokenizer, text, MaskChoice(attention="decoder"), layer=0, head=0).before
    assert said.mean_probability == pytest.approx(math.exp(own), rel=1e-4)
    if is_cut:
        assert said.mean_probability == pytest.approx(0.66, abs=0.005) and text.targeted() != text
        assert text.targeted().inputs["target"] == text.inputs["target"][:-1]
