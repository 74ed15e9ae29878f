"""Biases and rotations by distance, against the formulas of the papers and the models' own scores."""

import math

import numpy as np
import pytest
import torch

import transformer_core as tc
from headlight.analysis.positions.relative import (
    alibi_by_distance,
    alibi_matrix,
    buckets,
    head_vectors,
    learned_bias,
    same_vector,
)
from tests.model.building import random_inputs, varied_model
from transformer_core.errors import ConfigError


def test_alibi_falls_in_a_line():
    by_distance, matrix = alibi_by_distance(8, 6), alibi_matrix(8, 2, 6)
    for distance in range(6):
        assert by_distance[2, distance] == -distance / 8
    for query in range(6):
        for key in range(6):
            assert matrix[query, key] == -abs(query - key) / 8
    np.testing.assert_allclose(alibi_matrix(8, 2, 6, 0.5), matrix / 2)


@pytest.mark.parametrize("is_causal", [True, False])
def test_the_bucket_of_a_cell_is_that_of_its_distance(is_causal: bool):
    actual = buckets(40, is_causal=is_causal)
    by_distance = dict(zip(actual.distance.tolist(), actual.bucket.tolist(), strict=True))
    assert [*by_distance] == [*range(-39, 1 if is_causal else 40)]
    for query, key in np.ndindex(40, 40):
        if key <= query or not is_causal:
            assert actual.matrix[query, key] == by_distance[key - query]
    assert (actual.matrix[7, 3], actual.matrix[0, 1]) == (4, 0 if is_causal else 17)


@pytest.mark.parametrize(
    ("variation", "stack"), [("decoder, buckets", "decoder"), ("encoder, buckets, groups", "encoder")]
)
def test_a_learned_bias_is_what_the_model_adds(variation: str, stack):
    model = varied_model(variation)
    (tokens,) = random_inputs(model, (7,))
    actual = learned_bias(model, stack, 7)
    site = f"{stack}.blocks.0.self_attn"
    with torch.no_grad(), tc.capture(model, f"{site}.hook_q", f"{site}.hook_k", f"{site}.hook_attn_scores") as acts:
        model(tokens)
    q, k, scores = (acts[f"{site}.{stem}"][0] for stem in ("hook_q", "hook_k", "hook_attn_scores"))
    k = k.repeat_interleave(len(q) // len(k), dim=0)
    added = (scores - q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])).numpy()
    allowed = np.isfinite(added)
    np.testing.assert_allclose(actual.matrix[allowed], added[allowed], atol=1e-5)
    assert actual.is_causal == (stack == "decoder")
    places = {distance: place for place, distance in enumerate(actual.distance.tolist())}
    for query in range(7):
        for key in range(7):
            if key <= query or not actual.is_causal:
                column = actual.by_distance[:, places[key - query]]
                np.testing.assert_allclose(actual.matrix[:, query, key], column, atol=1e-7)


def test_a_model_without_buckets_has_no_learned_bias():
    with pytest.raises(ConfigError, match="in its encoder"):
        learned_bias(varied_model("decoder, buckets"), "encoder", 5)


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
