"""Shuffled words: heads that are made to see words alone, or places alone, are told apart."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch

import transformer_core as tc
from headlight.analysis.positions.shuffled_words import MOST_TOKENS, shuffle_words
from headlight.analysis.trace.model_run import run_text
from tests.model.building import DECODER, ENCODER, odd_config, shaken_model
from transformer_core.errors import TextError

TEXT = "The cat didn't see the tired dog."


def model_of(**choices: Any) -> tuple[tc.Transformer, tc.Tokenizer]:
    """A random model, and a tokenizer that cuts words into pieces."""
    tokenizer = tc.train_tokenizer([TEXT], kind="byte_bpe", vocab_size=290, mask=choices.get("mask", False))
    choices.pop("mask", None)
    config = odd_config(
        **{"vocab_size": tokenizer.vocab_size, "max_seq_len": 20, "n_encoder_layers": 1, "tie_embeddings": "target"}
        | choices
    )
    return shaken_model(config), tokenizer


def test_without_positions_every_head_follows_the_words_wholly():
    model, tokenizer = model_of(**ENCODER, positions="none", mask=True)
    model_run = run_text(model, tokenizer, TEXT, max_tokens=20)
    actual = shuffle_words(model, tokenizer, model_run, attention="encoder")
    np.testing.assert_allclose(actual.follows, 1, atol=1e-3)
    order = np.array(actual.order)
    np.testing.assert_allclose(actual.shuffled, actual.own[:, :, order][:, :, :, order], atol=1e-5)
    assert actual.output == ""  # there is no blank


@pytest.mark.parametrize("kind", [ENCODER, DECODER])
def test_without_words_every_head_stays_in_its_places(kind: dict[str, Any]):
    model, tokenizer = model_of(**kind | {"tie_embeddings": "none"}, positions="learned")
    stack = model.encoder or model.decoder
    assert stack is not None
    with torch.no_grad():
        stack.embed.weight.zero_()
    model_run = run_text(model, tokenizer, TEXT, max_tokens=20, max_new_tokens=3)
    actual = shuffle_words(model, tokenizer, model_run, attention="encoder" if kind is ENCODER else "decoder")
    np.testing.assert_allclose(actual.follows, -1, atol=1e-3)
    np.testing.assert_allclose(actual.shuffled, actual.own, atol=1e-6)


def test_words_stay_whole_special_tokens_in_their_places_and_a_seed_is_an_order():
    model, tokenizer = model_of(positions="sinusoidal_halves")
    model_run = run_text(model, tokenizer, TEXT, max_tokens=20)
    actual = shuffle_words(model, tokenizer, model_run, attention="encoder", seed=3)
    order = actual.order
    assert sorted(order) == list(range(len(model_run.source))) and list(order) != sorted(order)
    for place, is_special in enumerate(model_run.special["source"]):
        if is_special:
            assert order[place] == place
    words = model_run.words["source"]
    for before, after in pairwise(order):  # pieces of a word follow upon each other
        assert words[before] != words[after] or after == before + 1
    assert actual.key_labels[1] == tuple(model_run.source[place] for place in order)
    assert sorted(actual.text.split()) == sorted(actual.own_text.split())
    again = shuffle_words(model, tokenizer, model_run, attention="encoder", seed=3)
    other = shuffle_words(model, tokenizer, model_run, attention="encoder", seed=4)
    assert again.order == order != other.order
    src = torch.tensor([[model_run.inputs[0][place] for place in order]])
    with torch.no_grad(), tc.capture(model, "encoder.blocks.0.self_attn.hook_pattern") as acts:
        model.encode(src)
    np.testing.assert_allclose(actual.shuffled[0], acts["encoder.blocks.0.self_attn.hook_pattern"][0], atol=1e-6)


def test_of_cross_attention_the_source_moves_and_the_decoders_input_stays():
    model, tokenizer = model_of(positions="none")
    model_run = run_text(model, tokenizer, TEXT, target="a cat", max_tokens=20)
    actual = shuffle_words(model, tokenizer, model_run, attention="cross")
    assert actual.query_labels[0] == actual.query_labels[1] == model_run.target
    assert actual.key_labels[0] == model_run.source and actual.output is not None
    np.testing.assert_allclose(actual.shuffled, actual.own[:, :, :, list(actual.order)], atol=1e-5)
    np.testing.assert_allclose(actual.follows, 1, atol=1e-3)
    of_target = shuffle_words(model, tokenizer, model_run, attention="decoder")
    assert of_target.output is None and of_target.key_labels[0] == model_run.target


def test_a_long_text_is_declined():
    model, tokenizer = model_of(**DECODER, positions="none", max_seq_len=400)
    model_run = run_text(model, tokenizer, 20 * TEXT, max_tokens=400, max_new_tokens=1)
    with pytest.raises(TextError, match=f"up to {MOST_TOKENS} tokens"):
        shuffle_words(model, tokenizer, model_run, attention="decoder")
