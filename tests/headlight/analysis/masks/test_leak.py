"""Which outputs move when a token changes, and one pass against steps, with the masks of a model and without."""

import numpy as np
import pytest

from headlight.analysis.masks.leak import leak, other_tokens
from headlight.analysis.masks.rules import MaskChoice
from tests.headlight.analysis.masks import masked_by_hand
from tests.model.building import each_variation, random_inputs, shaken, varied_model

INPUTS = {"source": (5, 9, 4, 7), "target": (1, 8, 6, 8, 3)}


@pytest.mark.parametrize("preset", ["own", "none", "window"])
@pytest.mark.parametrize("architecture", ["encoder_decoder", "decoder_only", "encoder_only"])
def test_against_a_naive_loop(make, architecture: str, preset: str):
    model, _ = make(architecture)
    model = shaken(model)
    sides = {"encoder_decoder": ("source", "target"), "decoder_only": ("target",), "encoder_only": ("source",)}
    inputs = {side: INPUTS[side] for side in sides[architecture]}
    side = [*inputs][-1]
    attention = "encoder" if side == "source" else "decoder"
    choice = MaskChoice(preset=preset, size=2, attention=attention)
    actual = leak(
        model,
        [*inputs.values()],
        (2,) * len(inputs[side]),
        choice.interventions(model.config, n_source=None, n_target=None),
    )
    masks = masked_by_hand.usual(model, inputs)
    n = len(inputs[side])
    for name, layer in masks:
        if name == attention and preset != "own":
            masks[name, layer] = np.array(
                [
                    [preset == "none" or (abs(i - j) < 2 and (attention == "encoder" or j <= i)) for j in range(n)]
                    for i in range(n)
                ]
            )
    before, _ = masked_by_hand.run(model, inputs, masks)
    np.testing.assert_array_equal(actual.before, before.argmax(axis=1))
    for place in range(n):
        changed = list(inputs[side])
        changed[place] = 2
        after, _ = masked_by_hand.run(model, {**inputs, side: changed}, masks)
        np.testing.assert_allclose(actual.moved[:, place], np.abs(after - before).max(axis=1), atol=2e-4)
        np.testing.assert_array_equal(actual.after[:, place], after.argmax(axis=1))


@each_variation
def test_with_its_own_masks_no_decoder_leaks_a_single_bit(variation: str):
    model = varied_model(variation)
    inputs = [tokens[0].tolist() for tokens in random_inputs(model, (7,), (7,))]
    actual = leak(model, inputs, other_tokens(inputs[-1]))
    if model.config.has_decoder:
        assert actual.n_leaks == 0 and actual.most_leaked == 0
        assert (actual.from_later == 0).all() and len(actual.from_later) == 21
    else:
        assert actual.n_leaks > 0
    assert (np.diag(actual.moved) > 0).all()


def test_without_look_ahead_it_leaks_and_the_change_is_told():
    model = varied_model("the paper's")
    inputs = [tokens[0].tolist() for tokens in random_inputs(model, (4,), (5,))]
    edits = MaskChoice(preset="none", attention="decoder").interventions(model.config, n_source=None, n_target=None)
    actual = leak(model, inputs, other_tokens(inputs[-1]), edits)
    assert actual.n_leaks == 10 and actual.most_leaked == actual.from_later.max() > 0
    change = actual.change(3)
    assert (change.n_before, change.n_from_it) == (3, 2)
    assert change.most_before == actual.moved[:3, 3].max() and change.most_from_it == actual.moved[3:, 3].max()
    for place in range(5):
        is_named = place in [at for at, _, _ in change.turned]
        assert is_named == (actual.before[place] != actual.after[place, 3])


def test_other_tokens_differ_and_come_from_the_text():
    assert other_tokens((4, 4, 7, 4)) == (7, 7, 4, 7)
    assert other_tokens((5, 6)) == (6, 5)
    assert other_tokens((3, 3)) == (2, 2)
    assert other_tokens((0,)) == (1,)
