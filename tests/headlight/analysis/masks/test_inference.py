"""One pass against steps, with the mask and without, against plain forwards."""

import numpy as np
import pytest
import torch

import transformer_core as tc
from headlight.analysis.masks.inference import steps, write_four_ways
from headlight.analysis.masks.rules import MaskRule
from tests.model.building import random_inputs, varied_model

OPEN = {"decoder.blocks.*.self_attn.hook_mask": MaskRule(kind="none")}


@pytest.mark.parametrize("variation", ["the paper's", "decoder", "decoder, rotary", "window"])
def test_one_pass_under_the_mask_is_the_steps_with_a_cache(variation: str):
    model = varied_model(variation)
    inputs = [tokens[:1] for tokens in random_inputs(model, (6,), (7,))]
    actual = steps(model, [tokens[0].tolist() for tokens in inputs])
    with torch.inference_mode():
        logits = model(*inputs)[0]
    n = logits.shape[0]
    np.testing.assert_array_equal(actual.best, logits.argmax(dim=-1))
    np.testing.assert_allclose(actual.in_one_pass, logits.softmax(dim=-1).amax(dim=-1), atol=1e-6)
    np.testing.assert_allclose(actual.in_steps, actual.in_one_pass, atol=1e-5)
    assert actual.most_apart < 1e-4 and actual.most_grown < actual.tolerance == 1e-4
    assert actual.grown.shape == (n, n)
    assert np.isnan(actual.grown[np.triu_indices(n, k=1)]).all()
    assert (np.diag(actual.grown) == 0).all() and (np.diag(actual.grown_unmasked) == 0).all()
    if variation != "window":  # which the steps without a mask do not have
        assert actual.most_apart_unmasked < 1e-4


@pytest.mark.parametrize("variation", ["the paper's", "decoder"])
def test_without_the_mask_earlier_rows_move_by_what_they_do(variation: str):
    model = varied_model(variation)
    *source, tokens = [tokens[:1] for tokens in random_inputs(model, (6,), (5,))]
    actual = steps(model, [ids[0].tolist() for ids in (*source, tokens)])
    with torch.inference_mode(), tc.intervene(model, OPEN):
        logits = [model(*source, tokens[:, : length + 1])[0] for length in range(tokens.shape[1])]
    for length, rows in enumerate(logits):
        for place in range(length + 1):
            moved = (rows[place] - logits[place][place]).abs().max()
            assert actual.grown_unmasked[length, place] == pytest.approx(float(moved), abs=1e-4)
    assert actual.most_grown_unmasked > 1e-2


@pytest.mark.parametrize("variation", ["the paper's", "decoder"])
def test_the_four_ways_to_write(variation: str):
    model = varied_model(variation)
    given = random_inputs(model, (4,), (4,))[0][0].tolist()
    n_begun = 1 if model.config.has_encoder else len(given)
    written = write_four_ways(model, given, n_new=6)
    assert written[True, True] == written[True, False]
    for is_masked, has_cache in written:
        edits = {} if is_masked else OPEN
        with tc.intervene(model, edits):
            actual = tc.greedy_decode(model, torch.tensor([given]), max_new_tokens=6, use_cache=has_cache)
        assert written[is_masked, has_cache] == tuple(actual.tokens[0, n_begun:].tolist())
    if model.config.has_encoder:  # begins with one token: with a cache each row is requested once, and sees the past
        assert written[False, True] == written[True, True]
