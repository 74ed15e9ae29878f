"""Texts in another order: what moves, what stays, and where pairs of tokens go."""

import numpy as np
import pytest

from transformer_core.analysis.texts.shuffling import orders_of, rearranged

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


def test_a_text_gets_the_same_orders_each_time_and_others_with_another_seed():
    one = orders_of(TOKENS, SPECIAL, n_shuffles=5)
    np.testing.assert_array_equal(one, orders_of(list(TOKENS), SPECIAL, n_shuffles=5))
    assert (one != orders_of(TOKENS, SPECIAL, n_shuffles=5, seed=1)).any()


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
