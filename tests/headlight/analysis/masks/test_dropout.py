"""Dropout on the pattern, against the model's own modules in training."""

from typing import Any

import numpy as np
import pytest
import torch

import transformer_core as tc
from headlight.analysis.masks.dropout import run_dropout
from headlight.analysis.masks.text import mask_text
from headlight.analysis.trace.attentions import attentions_of
from tests.headlight.analysis.conftest import TEXT_OF
from transformer_core.config import Architecture


@pytest.mark.parametrize("architecture", TEXT_OF)
def test_it_is_what_the_model_does_in_training(make, architecture: Architecture):
    """A copy in training, with this dropout on its patterns alone and torch seeded, computes the same."""
    model, tokenizer = make(architecture)
    text = mask_text(model, tokenizer, TEXT_OF[architecture])
    inputs = [torch.tensor([tokens]) for tokens in text.inputs.values()]
    config = tc.ModelConfig.from_dict(model.config.to_dict() | {"dropout": 0.0, "dropout_pattern": 0.3})
    trained = tc.build(config, seed=0)
    trained.load_state_dict(model.state_dict())
    (attention, *_), layer, head = [*attentions_of(config)], 0, 1
    site = attentions_of(config)[attention].site(layer)
    torch.manual_seed(7)
    with torch.inference_mode(), tc.capture(trained.train(), site, site.replace("pattern", "z")) as acts:
        logits = trained(*inputs)[0, list(text.judged)]
    place: dict[str, Any] = {"attention": attention, "layer": layer, "head": head}
    state = torch.get_rng_state()
    actual = run_dropout(model, tokenizer, text, **place, probability=0.3, seed=7)
    assert torch.equal(state, torch.get_rng_state())  # others' random numbers continue as they would
    expected = logits.softmax(dim=-1).gather(-1, torch.tensor(text.expected)[:, None])[:, 0]
    np.testing.assert_allclose(actual.now.probability, expected, atol=1e-6)
    np.testing.assert_allclose(actual.pattern, acts[site][0, head], atol=1e-6)
    with torch.inference_mode(), tc.capture(model, site.replace("pattern", "v")) as values:
        model(*inputs)
    v = values[site.replace("pattern", "v")][0, head].numpy()
    np.testing.assert_allclose(actual.dropped_pattern @ v, acts[site.replace("pattern", "z")][0, head], atol=1e-5)
    np.testing.assert_allclose(np.unique(actual.keep), [0, 1 / 0.7], rtol=1e-4)
    assert actual.moved.max() > 1e-3 and len(actual.moved) == len(text.judged)
    again = run_dropout(model, tokenizer, text, **place, probability=0.3, seed=7)
    np.testing.assert_array_equal(again.keep, actual.keep)
    assert (run_dropout(model, tokenizer, text, **place, probability=0.3, seed=8).keep != actual.keep).any()
