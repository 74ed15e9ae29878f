"""The weights by which measures are read off patterns, by hand; the rule of who may look at whom, as a model has it."""

import math
from typing import Any

import numpy as np
import pytest
import torch

import transformer_core as tc
from tests.model.building import random_inputs, varied_model
from transformer_core.analysis.heads.measured_texts import (
    allowed_cells,
    diagonal_weights,
    entropy_weights,
    orders_of,
    rearranged,
)
from transformer_core.analysis.trace.attentions import attentions_of


@torch.no_grad()
@pytest.mark.parametrize(
    "variation", ["the paper's", "window", "decoder", "decoder, alibi, window", "encoder", "encoder, windows and none"]
)
def test_the_rule_of_the_model_is_the_mask_that_is_seen(variation: str):
    model = varied_model(variation)
    with tc.capture(model, "*.hook_mask") as acts:
        model(*random_inputs(model, (7,), (5,)))
    for attention in attentions_of(model.config).values():
        for layer in range(attention.n_layers(model.config)):
            mask = acts[attention.site(layer, "hook_mask")][0, 0].numpy()
            np.testing.assert_array_equal(allowed_cells(attention, model.config.at_layer(layer), *mask.shape), mask)


def read(pattern: Any, weights: np.ndarray) -> float:
    return float((np.array(pattern) * weights).sum())


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


TOKENS = (1, 7, 8, 9, 7, 10, 11, 2)
SPECIAL = {1, 2}


def test_each_order_is_the_same_tokens_and_the_first_is_the_texts_own():
    orders = orders_of(TOKENS, SPECIAL, n_shuffles=6)
    assert orders.shape == (7, 8)
    np.testing.assert_array_equal(orders[0], range(8))
    assert (np.sort(orders, axis=1) == np.arange(8)).all()
    assert len({tuple(order) for order in orders.tolist()}) == 7


def test_special_tokens_stay():
    orders = orders_of(TOKENS, SPECIAL, n_shuffles=20)
    assert (orders[:, 0] == 0).all() and (orders[:, -1] == 7).all()
    assert (orders[1:, 1:-1] != np.arange(1, 7)).any(axis=0).all()  # every other place sees others


@pytest.mark.parametrize("is_self", [True, False])
def test_tokens_that_belong_together_stay_together(is_self: bool):
    random = np.random.default_rng(3)
    cells = random.random((8, 8)) < 0.3
    queries = orders_of(TOKENS, SPECIAL, n_shuffles=3)
    keys = queries if is_self else orders_of(TOKENS, SPECIAL, n_shuffles=3, seed=1)
    found = rearranged(cells, queries, keys)
    for order, moved in enumerate(found):
        for query in range(8):
            for key in range(8):
                assert moved[query, key] == cells[queries[order][query], keys[order][key]]
    np.testing.assert_array_equal(found[0], cells)
