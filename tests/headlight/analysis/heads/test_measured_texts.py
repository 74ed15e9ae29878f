"""The weights by which measures are read off patterns, by hand; the rule of who may look at whom, as a model has it."""

import numpy as np
import pytest
import torch

import transformer_core as tc
from headlight.analysis.heads.measured_texts import (
    allowed_cells,
    orders_of,
)
from headlight.analysis.trace.attentions import attentions_of
from tests.model.building import random_inputs, varied_model


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


TOKENS = (1, 7, 8, 9, 7, 10, 11, 2)
SPECIAL = {1, 2}


def test_each_order_is_the_same_tokens_the_first_is_the_texts_own_and_special_tokens_stay():
    orders = orders_of(TOKENS, SPECIAL, n_shuffles=6)
    assert orders.shape == (7, 8)
    np.testing.assert_array_equal(orders[0], range(8))
    assert (np.sort(orders, axis=1) == np.arange(8)).all()
    assert len({tuple(order) for order in orders.tolist()}) == 7
    orders = orders_of(TOKENS, SPECIAL, n_shuffles=20)
    assert (orders[:, 0] == 0).all() and (orders[:, -1] == 7).all()
    assert (orders[1:, 1:-1] != np.arange(1, 7)).any(axis=0).all()  # every other place sees others
