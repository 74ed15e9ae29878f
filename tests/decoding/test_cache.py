"""The cache holds what it was given, grows by chunks, and hands out copies; steps and trees are tested with it."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tests.model.building import DECODER, odd_config, random_tokens, shaken_model
from transformer_core.decoding.cache import GrowingStore, KeyValueCache
from transformer_core.errors import TextError

TOKENS = random_tokens([7, 7], vocab_size=37)


def random_keys_values(n_positions: int) -> tuple[Tensor, Tensor]:
    return torch.randn(2, 3, n_positions, 4), torch.randn(2, 3, n_positions, 4)  # [batch, head, pos, d_head]


@given(st.lists(st.integers(1, 70), min_size=1, max_size=5))
def test_a_growing_store_joins_what_it_was_given(sizes: list[int]):
    store = GrowingStore()
    parts = [random_keys_values(size) for size in sizes]
    for i, part in enumerate(parts):
        k, v = store.append(*part)
        assert torch.equal(k, torch.cat([k for k, _ in parts[: i + 1]], dim=2))
        assert torch.equal(v, torch.cat([v for _, v in parts[: i + 1]], dim=2))
        assert store.n_positions == k.shape[2] == sum(sizes[: i + 1])


def test_a_growing_store_takes_memory_as_it_is_written():
    """A chunk at a time; between two of them nothing is copied."""
    store, addresses = GrowingStore(), set()
    for n in range(1, 131):
        k, v = store.append(*random_keys_values(1))
        addresses.add((k.data_ptr(), v.data_ptr()))
        assert k.untyped_storage().nbytes() < 2 * 2 * 3 * 4 * 4 * (n + 64)  # keys and values, float32
    assert len(addresses) == 3


@torch.inference_mode()
def test_what_was_taken_stays_as_it_was():
    model, cache = shaken_model(odd_config(**DECODER)), KeyValueCache(n_layers=2)
    model.decode(TOKENS[:, :3], store=cache)
    taken = cache.taken(1)
    before = taken.clone()
    model.decode(TOKENS[:, 3:5], store=cache)
    cache.reorder(torch.tensor([1, 1]))
    assert torch.equal(taken, before)
    assert taken.shape == (2, 2, 2, 2 * 3, 16)  # [batch, pos, layer, both_heads, d_head]
    assert KeyValueCache.of(taken, ()).n_positions == 2


@torch.inference_mode()
def test_more_positions_than_the_model_has():
    model, cache = shaken_model(odd_config(**DECODER, max_seq_len=5)), KeyValueCache(n_layers=2)
    model.decode(TOKENS[:, :4], store=cache)
    with pytest.raises(TextError, match="the text has 6 tokens, and this model takes at most 5"):
        model.decode(TOKENS[:, 4:6], store=cache)
