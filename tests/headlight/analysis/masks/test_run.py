"""A model under edited masks, against plain Python: cell by cell, in all three attentions."""

import random
from typing import Any

import numpy as np
import pytest

import transformer_core as tc
from headlight.analysis.masks.presets import presets_of
from headlight.analysis.masks.rules import MaskChoice
from headlight.analysis.masks.run import masks_of, preset_masks, run_masked, write_masked
from headlight.analysis.masks.text import MaskText, mask_text
from headlight.analysis.trace.attentions import attentions_of
from tests.headlight.analysis.masks import masked_by_hand
from tests.model.building import shaken

TEXTS = {"encoder_decoder": "The cat sees the dog.", "decoder_only": "The cat sees", "encoder_only": "The ____ sees."}
OF = [("encoder_decoder", "encoder"), ("encoder_decoder", "decoder"), ("encoder_decoder", "cross")]
OF += [("decoder_only", "decoder"), ("encoder_only", "encoder")]


def opened(make: Any, architecture: str) -> tuple[tc.Transformer, Any, MaskText]:
    model, tokenizer = make(architecture)
    model = shaken(model)
    return model, tokenizer, mask_text(model, tokenizer, TEXTS[architecture], max_tokens=8)


@pytest.mark.parametrize(("architecture", "attention"), OF)
@pytest.mark.parametrize("layer", [None, 0])
def test_edits_are_what_plain_python_makes_of_them(make, architecture: str, attention: str, layer: int | None):
    model, tokenizer, text = opened(make, architecture)
    draw = random.Random(f"{architecture} {attention} {layer}")
    queries, keys = (range(len(side)) for side in text.sides(attention))
    turned = {(query, key) for query in queries for key in keys if draw.random() < 0.4}
    masks = masked_by_hand.usual(model, text.inputs)
    row = draw.choice(queries)
    turned = {cell for cell in turned if cell[0] != row} | {
        (row, key) for key in keys if masks[attention, 0][row, key]
    }  # this query may look at nothing
    before, _ = masked_by_hand.run(model, text.inputs, masks)
    n_layers = attentions_of(model.config)[attention].n_layers(model.config)
    for of_layer in range(n_layers) if layer is None else [layer]:
        for query, key in turned:
            masks[attention, of_layer][query, key] ^= True
    after, patterns = masked_by_hand.run(model, text.inputs, masks)
    look_at = 0 if layer is not None else n_layers - 1

    choice = MaskChoice(attention=attention, layer=layer, turned=tuple(sorted(turned)))
    outcome = run_masked(model, tokenizer, text, choice, layer=look_at, head=1)
    np.testing.assert_array_equal(outcome.head.allowed, masks[attention, look_at])
    np.testing.assert_allclose(outcome.head.pattern, patterns[attention, look_at, 1], atol=1e-5)
    assert outcome.head.empty_rows == tuple(np.flatnonzero(~masks[attention, look_at].any(axis=1)))
    assert row in outcome.head.empty_rows and (outcome.head.pattern[row] == 0).all()
    arguments = list(text.judged)
    np.testing.assert_allclose(outcome.moved, np.abs(after - before)[arguments].max(axis=1), atol=2e-4)
    for message, logits in ((outcome.before, before), (outcome.now, after)):
        expected = masked_by_hand.softmax(logits)[arguments, text.expected]
        np.testing.assert_allclose(message.probability, expected, atol=1e-5)
        assert message.mean_probability == pytest.approx(float(np.exp(np.log(expected).mean())), rel=1e-3)
        likely = logits[arguments].copy()
        likely[:, 0] = -np.inf  # padding is nothing to say
        assert message.best == tuple(likely.argmax(axis=1).tolist())
    np.testing.assert_array_equal(outcome.head.without(choice.turned), outcome.head_before.allowed)


@pytest.mark.parametrize("architecture", TEXTS)
def test_masked_padding_changes_nothing_and_forgotten_padding_does(make, architecture: str):
    model, tokenizer, text = opened(make, architecture)
    side = "target" if architecture == "decoder_only" else "source"
    attention = {"encoder_decoder": "cross", "decoder_only": "decoder", "encoder_only": "encoder"}[architecture]
    padded = text.padded(tokenizer, 0, (side,), 3)
    right = run_masked(model, tokenizer, padded, MaskChoice(attention=attention), layer=0, head=0)
    assert right.moved_by_padding < 1e-4
    assert not right.head.allowed[:, -3:].any()
    choice = MaskChoice(preset="forgotten", attention=attention)
    forgotten = run_masked(model, tokenizer, padded, choice, layer=0, head=0)
    if architecture == "decoder_only":  # after the text, where look-ahead hides it
        np.testing.assert_allclose(forgotten.moved, 0, atol=1e-4)
    else:
        assert forgotten.head.allowed.all() and forgotten.moved.max() > 1e-3


def test_unshifted_targets_are_compared_with_shifted_ones(make):
    model, tokenizer, text = opened(make, "encoder_decoder")
    outcome = run_masked(model, tokenizer, text, MaskChoice(preset="unshifted", attention="decoder"), layer=0, head=0)
    masks = masked_by_hand.usual(model, text.inputs)
    shifted, _ = masked_by_hand.run(model, text.inputs, masks)
    given = {**text.inputs, "target": text.expected}
    unshifted, _ = masked_by_hand.run(model, given, masks)
    np.testing.assert_allclose(outcome.moved, np.abs(unshifted - shifted).max(axis=1), atol=2e-4)


def test_all_masks_at_once_and_all_presets(make):
    model, tokenizer, text = opened(make, "encoder_decoder")
    masks = masks_of(model, text, MaskChoice(attention="decoder"))
    expected = masked_by_hand.usual(model, text.inputs)
    assert set(masks) == {"encoder", "decoder", "cross"}
    for name, mask in masks.items():
        np.testing.assert_array_equal(mask, expected[name, 0])
    for attention in masks:
        actual = preset_masks(model, tokenizer, text, attention)
        assert set(actual) == set(presets_of(model.config))
        np.testing.assert_array_equal(actual["own"], expected[attention, 0])
        np.testing.assert_array_equal(actual["flipped"], ~expected[attention, 0])
        assert actual["none"].all()


@pytest.mark.parametrize(
    "choice",
    [MaskChoice(attention="decoder", turned=((0, 2), (1, 0), (2, 0))), MaskChoice(preset="none", attention="decoder")],
    ids=["turned", "open"],
)
def test_what_it_writes_is_written_step_by_step_under_the_mask(make, choice: MaskChoice):
    """Where earlier rows see later tokens, each step computes them again."""
    model, tokenizer, text = opened(make, "encoder_decoder")
    assert model.config.bos_id is not None
    tokens = [model.config.bos_id]
    for _ in range(model.config.max_seq_len - 1):
        inputs = {"source": text.inputs["source"], "target": tokens}
        masks = masked_by_hand.usual(model, inputs)
        for layer in range(model.config.n_decoder_layers):
            masks["decoder", layer] |= choice.preset == "none"
            for query, key in choice.turned:
                if max(query, key) < len(tokens):
                    masks["decoder", layer][query, key] ^= True
        logits, _ = masked_by_hand.run(model, inputs, masks)
        likely = logits[-1].copy()
        likely[0] = -np.inf
        tokens.append(int(likely.argmax()))
        if tokens[-1] == model.config.eos_id or len(tokens) > len(text.expected) + 8:
            break
    assert write_masked(model, tokenizer, text, choice) == tokenizer.decode(tokens[1:])
