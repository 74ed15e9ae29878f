"""The texts of the mask laboratory: what a model is given, and what it is requested."""

import pytest

from headlight.analysis.masks.text import mask_text
from headlight.analysis.trace.model_run import run_text
from tests.headlight.analysis.conftest import TEXT_OF
from transformer_core.config import Architecture


@pytest.mark.parametrize("architecture", TEXT_OF)
def test_it_is_the_text_that_is_read_elsewhere(make, architecture: Architecture):
    model, tokenizer = make(architecture)
    text = mask_text(model, tokenizer, TEXT_OF[architecture])
    model_run = run_text(model, tokenizer, TEXT_OF[architecture])
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
    text = mask_text(model, tokenizer, TEXT_OF["encoder_decoder"])
    padded = text.padded(tokenizer, 0, ("source",), 2)
    assert padded.inputs["source"] == (*text.inputs["source"], 0, 0)
    assert padded.labels["source"][-2:] == ("<pad>", "<pad>")
    assert padded.inputs["target"] == text.inputs["target"]
    assert padded.n_padding == {"source": 2, "target": 0} and padded.n_real == text.n_real
    assert padded.without_padding() == text
    assert text.padded(tokenizer, None, ("source",), 2) == text


def test_without_a_blank_an_encoder_is_asked_for_every_token(make):
    model, tokenizer = make("encoder_only")
    text = mask_text(model, tokenizer, "The cat sees the dog.")
    assert text.expected == text.inputs["source"]
    assert text.expected_labels == text.labels["source"]


TEXTS = {
    "encoder_decoder": "The cat sees the dog.",
    "decoder_only": "The cat sees",
    "encoder_only": "The ____ sees the dog.",
}


def test_unshifted_the_decoder_is_given_what_it_is_asked_for(make):
    model, tokenizer = make("decoder_only")
    text = mask_text(model, tokenizer, TEXTS["decoder_only"])
    given = text.unshifted()
    assert given.inputs["target"] == given.expected == text.expected
    assert given.inputs["target"][: len(text.inputs["target"]) - 1] == text.inputs["target"][1:]
    assert not given.is_shifted and text.is_shifted
    assert given.n_real["target"] == len(text.expected) == len(text.targeted().inputs["target"])
