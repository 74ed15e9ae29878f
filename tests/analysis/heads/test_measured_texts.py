"""The weights by which measures are read off patterns, by hand; the rule of who may look at whom, as a model has it."""

import math
from typing import Any

import numpy as np
import pytest
import torch

import transformer_core as tc
from tests.model.building import VARIATIONS, odd_config, random_inputs, varied_model
from transformer_core.analysis.heads.measured_texts import allowed_cells, diagonal_weights, entropy_weights
from transformer_core.analysis.trace.attentions import attentions_of


@torch.no_grad()
@pytest.mark.parametrize(
    "variation",
    ["the paper's", "window", "decoder", "decoder, alibi, window", "encoder", "encoder, windows and none"],
)
def test_the_rule_of_the_model_is_the_mask_that_is_seen(variation: str):
    model = varied_model(variation)
    with tc.capture(model, "*.hook_mask") as acts:
        model(*random_inputs(model, (7,), (5,)))
    for attention in attentions_of(model.config).values():
        for layer in range(attention.n_layers(model.config)):
            mask = acts[attention.site(layer, "hook_mask")][0, 0].numpy()
            np.testing.assert_array_equal(allowed_cells(attention, model.config.at_layer(layer), *mask.shape), mask)


def test_the_rule_of_a_layer_with_a_window_and_of_one_without():
    config = odd_config(**VARIATIONS["encoder, windows and none"] | {"n_encoder_layers": 5})
    (attention,) = attentions_of(config).values()
    for layer in range(5):
        allowed = [[layer % 2 == 0 or abs(query - key) < 3 for key in range(6)] for query in range(6)]
        assert allowed_cells(attention, config.at_layer(layer), 6, 6).tolist() == allowed


def read(pattern: Any, weights: np.ndarray) -> float:
    return float((np.array(pattern) * weights).sum())


@pytest.mark.parametrize("n_queries, n_keys", [(5, 5), (4, 9), (7, 3), (1, 4)])
@pytest.mark.parametrize("is_causal", [False, True])
def test_diagonality_is_1_on_the_diagonal_and_0_where_attention_is_even(n_queries: int, n_keys: int, is_causal: bool):
    if is_causal and n_queries != n_keys:
        n_keys = n_queries = 6
    allowed = np.tri(n_queries, dtype=bool) if is_causal else np.ones((n_queries, n_keys), dtype=bool)
    queries, keys = np.arange(n_queries)[None], np.arange(n_keys)[None]
    (weights,) = diagonal_weights(queries, keys, allowed)
    on_diagonal = np.zeros(allowed.shape)
    for query in range(n_queries):
        on_diagonal[query, round(query * (n_keys - 1) / max(n_queries - 1, 1))] = 1
    assert read(on_diagonal, weights) == pytest.approx(1)
    assert read(allowed / allowed.sum(axis=1, keepdims=True), weights) == pytest.approx(0, abs=1e-12)


def test_diagonality_of_the_token_before_by_hand():
    """Three causal tokens: query 1 looks 1 away of at most 1, query 2 looks 1 of at most 2; query 0 has no choice.

    D = (0 + 1/2) / 2 = 1/4; evenly spread, query 1 gets 1/2 and query 2 gets (1 + 1/2 + 0) / 3 = 1/2: U = 1/2.
    """
    place = np.arange(3)[None]
    (weights,) = diagonal_weights(place, place, np.tri(3, dtype=bool))
    assert read([[1, 0, 0], [1, 0, 0], [0, 1, 0]], weights) == pytest.approx((1 / 4 - 1 / 2) / (1 - 1 / 2))


def test_entropy_counts_queries_with_a_choice():
    weights = entropy_weights(np.tri(3, dtype=bool))
    np.testing.assert_allclose(weights, [[0, 0], [0.5, 0.5 / math.log(2)], [0.5, 0.5 / math.log(3)]])
