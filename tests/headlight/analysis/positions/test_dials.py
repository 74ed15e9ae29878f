"""Dials against cosines of angles, and against the scores of models that turn their queries and keys."""

import math

import numpy as np
import pytest
import torch

import transformer_core as tc
from headlight.analysis.positions.dials import head_vectors, same_vector
from tests.model.building import random_inputs, varied_model
from transformer_core.errors import ConfigError


@pytest.mark.parametrize("encoding", ["rotary_halves", "rotary_interleaved"])
def test_one_vector_twice_gives_the_mean_cosine(encoding):
    dials = same_vector(encoding, 8)
    distances = np.array([-9, -1, 0, 3, 100])
    speeds = [10_000 ** (-2 * pair / 8) for pair in range(4)]
    np.testing.assert_allclose(dials.speeds, speeds)
    expected = [sum(math.cos(speed * distance) for speed in speeds) / 4 for distance in distances]
    np.testing.assert_allclose(dials.products(distances), expected, atol=1e-6)
    for hands in dials.hands:
        np.testing.assert_allclose(hands, [[0.5, 0]] * 4)
    assert dials.rest == 0


CASES = [
    ("decoder, rotary", "decoder"),
    ("decoder, q/k norm", "decoder"),
    ("encoder, rotary, window", "encoder"),
    ("rotary, groups", "encoder"),
]


@pytest.mark.parametrize(("variation", "attention"), CASES)
def test_at_their_own_places_the_product_is_the_models_score(variation: str, attention: str):
    model = varied_model(variation)
    tokens = random_inputs(model, (7,), (5,))
    site = f"{attention}.blocks.1.self_attn.hook_attn_scores"
    with torch.no_grad(), tc.capture(model, site) as acts:
        model(*tokens)
    inputs = [ids[0].tolist() for ids in tokens]
    for query, key in ((5, 5), (4, 3), (6, 4)):
        dials = head_vectors(model, inputs, attention=attention, layer=1, head=2, query=query, key=key)
        score = acts[site][0, 2, query, key].item()
        assert dials.products(np.array([query - key]))[0] == pytest.approx(score, abs=1e-5)
        of_query, of_key = dials.hands  # as the page turns them
        angles = [
            np.arctan2(*hand.T[::-1]) + place * dials.speeds for hand, place in ((of_query, query), (of_key, key))
        ]
        lengths = np.linalg.norm(of_query, axis=1) * np.linalg.norm(of_key, axis=1)
        turned = dials.scale * (lengths * np.cos(angles[0] - angles[1])).sum() + dials.rest
        assert turned == pytest.approx(score, abs=1e-5)


def test_a_head_that_turns_nothing_is_told():
    model = varied_model("rotary, groups")
    inputs = [[3, 4, 5], [1, 2]]
    with pytest.raises(ConfigError, match="does not use RoPE"):
        head_vectors(model, inputs, attention="cross", layer=0, head=0, query=0, key=0)
