"""The texts of the mask laboratory: what a model is given, and what it is asked for."""

import pytest

from transformer_core.analysis import read
from transformer_core.analysis.masks.text import mask_text

TEXTS = {
    "encoder_decoder": "The cat sees the dog.",
    "decoder_only": "The cat sees",
    "encoder_only": "The ____ sees the dog.",
}


@pytest.mark.parametrize("architecture", TEXTS)
def test_it_is_the_text_that_is_read_elsewhere(make, architecture: str):
    model, tokenizer = make(architecture)
    text = mask_text(model, tokenizer, TEXTS[architecture])
    reading = read(model, tokenizer, TEXTS[architecture])
    assert tuple(text.inputs.values()) == reading.inputs
    sides = {"source": reading.source, "target": reading.target}
    assert dict(text.labels) == {side: sides[side] for side in text.inputs}
    assert len(text.asked) == len(text.expected) == len(text.expected_labels)
    if architecture == "encoder_only":
        assert text.asked == tuple(blank.position for blank in reading.blanks)
    else:
        target = text.inputs["target"]
        assert text.asked == tuple(range(len(target)))
        assert text.expected[:-1] == target[1:]  # each is asked for the token behind it


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
    assert given.inputs["target"][:-1] == text.inputs["target"][1:]
    assert not given.is_shifted and text.is_shifted


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
