"""Drawing different items."""

import random

import pytest

from transformer_core.corpora.generated import draw_distinct
from transformer_core.errors import CorpusError


def test_each_item_comes_once_and_in_the_order_in_which_it_came_first() -> None:
    drawn = iter("abracadabra")
    assert draw_distinct(lambda: next(drawn), 5, key=str) == list("abrcd")


def test_items_with_equal_keys_are_the_same_and_the_first_stays() -> None:
    drawn = iter([(1, 2), (2, 1), (3, 4)])
    assert draw_distinct(lambda: next(drawn), 2, key=lambda pair: tuple(sorted(pair))) == [(1, 2), (3, 4)]


def test_where_there_are_too_few_it_ends_with_an_error() -> None:
    rng = random.Random(0)
    with pytest.raises(CorpusError, match=r"1,001 different items were requested, but there are only about 6"):
        draw_distinct(lambda: rng.randint(1, 6), 1_001, key=str)
