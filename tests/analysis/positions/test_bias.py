"""Biases of distances against the published slopes, against counted buckets, and against a model's scores."""

import math

import numpy as np
import pytest
import torch

import transformer_core as tc
from tests.model.building import random_inputs, varied_model
from transformer_core.analysis.positions.bias import alibi_by_distance, alibi_matrix, buckets, learned_bias
from transformer_core.errors import ConfigError


def test_alibi_falls_in_a_line():
    by_distance, matrix = alibi_by_distance(8, 6), alibi_matrix(8, 2, 6)
    for distance in range(6):
        assert by_distance[2, distance] == -distance / 8
    for query in range(6):
        for key in range(6):
            assert matrix[query, key] == -abs(query - key) / 8


def counted_bucket(distance: int, n_buckets: int, farthest: int) -> int:
    """A distance back of 0 or more, by T5's rule, in plain numbers."""
    n_near = n_buckets // 2
    if distance < n_near:
        return distance
    grown = math.log(distance / n_near) / math.log(farthest / n_near)
    return min(n_near + int(grown * (n_buckets - n_near)), n_buckets - 1)


def test_buckets_are_single_near_by_and_shared_far_away():
    found = buckets(200, is_causal=True)
    by_distance = dict(zip(found.distance.tolist(), found.bucket.tolist(), strict=True))
    assert [*by_distance] == [*range(-199, 1)]
    for distance, bucket in by_distance.items():
        assert bucket == counted_bucket(-distance, 32, 128)
    assert found.matrix[150, 20] == 31 and found.matrix[7, 3] == 4 and found.matrix[3, 7] == 0


def test_of_a_whole_text_half_of_the_buckets_serve_later_keys():
    found = buckets(40, is_causal=False)
    for distance, bucket in zip(found.distance.tolist(), found.bucket.tolist(), strict=True):
        assert bucket == counted_bucket(abs(distance), 16, 128) + (16 if distance > 0 else 0)
    assert found.matrix[0, 1] == 17


@pytest.mark.parametrize(
    ("variation", "stack"), [("decoder, buckets", "decoder"), ("encoder, buckets, groups", "encoder")]
)
def test_a_learned_bias_is_what_the_model_adds(variation: str, stack):
    model = varied_model(variation)
    (tokens,) = random_inputs(model, (7,))
    found = learned_bias(model, stack, 7)
    site = f"{stack}.blocks.0.self_attn"
    with torch.no_grad(), tc.capture(model, f"{site}.hook_q", f"{site}.hook_k", f"{site}.hook_attn_scores") as acts:
        model(tokens)
    q, k, scores = (acts[f"{site}.{stem}"][0] for stem in ("hook_q", "hook_k", "hook_attn_scores"))
    k = k.repeat_interleave(len(q) // len(k), dim=0)
    added = (scores - q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])).numpy()
    allowed = np.isfinite(added)
    np.testing.assert_allclose(found.matrix[allowed], added[allowed], atol=1e-5)
    assert found.is_causal == (stack == "decoder")
    places = {distance: place for place, distance in enumerate(found.distance.tolist())}
    for query in range(7):
        for key in range(7):
            if key <= query or not found.is_causal:
                column = found.by_distance[:, places[key - query]]
                np.testing.assert_allclose(found.matrix[:, query, key], column, atol=1e-7)


def test_a_model_without_buckets_has_no_learned_bias():

    with pytest.raises(ConfigError, match="in its encoder"):
        learned_bias(varied_model("decoder, buckets"), "encoder", 5)
