"""Biases of distances: ALiBi by hand, buckets by their distances, and learned ones against a model's scores."""

import math

import numpy as np
import pytest
import torch

import transformer_core as tc
from headlight.analysis.positions.bias import alibi_by_distance, alibi_matrix, buckets, learned_bias
from tests.model.building import random_inputs, varied_model
from transformer_core.errors import ConfigError


def test_alibi_falls_in_a_line():
    by_distance, matrix = alibi_by_distance(8, 6), alibi_matrix(8, 2, 6)
    for distance in range(6):
        assert by_distance[2, distance] == -distance / 8
    for query in range(6):
        for key in range(6):
            assert matrix[query, key] == -abs(query - key) / 8


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
