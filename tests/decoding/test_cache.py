"""The cache gives every position the keys and values that it would have had without, and projects each once."""

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from transformer_core.config import ModelConfig
from transformer_core.decoding.cache import GrowingStore, KeyValueCache
from transformer_core.errors import TextError
from transformer_core.hooks import active_hooks, named_hook_points
from transformer_core.model.transformer import Transformer, build

SRC = torch.tensor([[4, 5, 6, 7, 2], [8, 2, 0, 0, 0]])
TGT = torch.tensor([[1, 4, 9, 5, 5, 8, 3], [1, 3, 3, 10, 4, 6, 7]])


def small_model(**changes: Any) -> Transformer:
    sizes = {"vocab_size": 11, "d_model": 12, "d_ff": 20, "n_heads": 3, "max_seq_len": 9}
    layers = {"n_encoder_layers": 1, "n_decoder_layers": 2}
    return build(ModelConfig(**(sizes | layers | changes)), seed=4).double().eval()


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


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"positions": "sinusoidal_halves", "norm_position": "pre"},
        {"positions": "learned", "sliding_window": 3},
        {"positions": "rotary_halves", "n_kv_heads": 1},
        {"positions": "rotary_interleaved", "qk_norm": True, "norm": "rms"},
        {"positions": "alibi", "sliding_window": 2, "gated": True},
        {"positions": "relative_buckets", "n_relative_buckets": 5, "relative_max_distance": 4},
        {"positions": "none", "d_ff": 0, "norm_position": "pre"},
    ],
    ids=lambda parts: parts.get("positions", "the paper's"),
)
@pytest.mark.parametrize("sizes", [[1] * 7, [1, 4, 2]])
@torch.inference_mode()
def test_reading_piece_by_piece_is_reading_at_once(parts: dict[str, Any], sizes: list[int]):
    model = small_model(**parts)
    memory = model.encode(SRC)
    cache = KeyValueCache(n_layers=2)
    pieces = [model.decode(piece, memory, SRC, cache) for piece in TGT.split(sizes, dim=1)]
    torch.testing.assert_close(torch.cat(pieces, dim=1), model.decode(TGT, memory, SRC), rtol=0, atol=1e-12)


@torch.inference_mode()
def test_positions_are_counted_when_every_block_has_read_them():
    model = small_model()
    memory, cache, seen = model.encode(SRC), KeyValueCache(n_layers=2), []

    def count(value: Tensor) -> Tensor:
        seen.append(cache.n_positions)
        return value

    last = named_hook_points(model)["decoder.blocks.1.hook_resid_pre"]
    with active_hooks({last: count}):
        for part in TGT.split([3, 1, 3], dim=1):
            model.decode(part, memory, SRC, cache)
    assert seen == [0, 3, 4]
    assert cache.n_positions == 7
    assert [block.self_attn.n_positions for block in cache.blocks] == [7, 7]


@torch.inference_mode()
def test_each_position_is_projected_once():
    model = small_model()
    names = [f"decoder.blocks.1.{part}_attn.hook_{stem}" for part in ("self", "cross") for stem in "qkv"]
    n_positions: dict[str, list[int]] = {name: [] for name in names}
    points = named_hook_points(model)

    def count(name: str, value: Tensor) -> Tensor:
        n_positions[name].append(value.shape[2])
        return value

    memory, cache = model.encode(SRC), KeyValueCache(n_layers=2)
    with active_hooks({points[name]: lambda value, name=name: count(name, value) for name in names}):
        for part in TGT.split(1, dim=1):
            model.decode(part, memory, SRC, cache)
    of_self, of_cross = [n_positions[name] for name in names[:3]], [n_positions[name] for name in names[3:]]
    assert of_self == [[1] * 7] * 3
    assert of_cross == [[1] * 7, [5], [5]]  # the memory's keys and values: at the first step only


@pytest.mark.parametrize("changes", [{}, {"n_kv_heads": 1, "positions": "rotary_halves"}, {"sliding_window": 2}])
@torch.inference_mode()
def test_what_was_taken_out_of_caches_is_gone_on_with(changes: dict[str, Any]):
    """Three texts that were read with caches of their own, in pieces, go on side by side."""
    model = small_model(**changes)
    src = SRC[:1]
    memory = model.encode(src)
    beginnings = torch.cat([TGT[:, :4], TGT[:1, 3:7]])
    taken = []
    for text in beginnings:
        cache, pieces = KeyValueCache(n_layers=2), []
        for piece in text[None].split([1, 2, 1], dim=1):
            n_before = cache.n_positions
            model.decode(piece, memory, src, cache)
            pieces.append(cache.taken(n_before)[0])
        assert torch.equal(torch.cat(pieces), cache.taken(0)[0])
        cross = [k_v for block in cache.blocks if (k_v := block.cross_attn.complete) is not None]
        taken.append(torch.cat(pieces))  # [pos, layer, both_heads, d_head]
    joined = KeyValueCache.of(torch.stack(taken), cross)
    assert joined.n_positions == 4
    rows = (memory.expand(3, -1, -1), src.expand(3, -1))
    more = torch.tensor([[5, 6], [7, 8], [9, 10]])
    found = [model.decode(more[:, i : i + 1], *rows, joined) for i in range(2)]
    expected = model.decode(torch.cat([beginnings, more], dim=1), *rows)
    torch.testing.assert_close(torch.cat(found, dim=1), expected[:, -2:], rtol=0, atol=1e-12)


@torch.inference_mode()
def test_what_was_taken_stays_as_it_was():
    model = small_model(n_encoder_layers=0, architecture="decoder_only", tie_embeddings="target")
    cache = KeyValueCache(n_layers=2)
    model.decode(TGT[:, :3], store=cache)
    taken = cache.taken(1)
    before = taken.clone()
    model.decode(TGT[:, 3:5], store=cache)
    cache.reorder(torch.tensor([1, 1]))
    assert torch.equal(taken, before)
    assert taken.shape == (2, 2, 2, 2 * 3, 4)  # [batch, pos, layer, both_heads, d_head]
    assert KeyValueCache.of(taken, ()).n_positions == 2


@torch.inference_mode()
def test_more_positions_than_the_model_has():
    model = small_model(max_seq_len=5)
    memory, cache = model.encode(SRC), KeyValueCache(n_layers=2)
    model.decode(TGT[:, :4], memory, SRC, cache)
    with pytest.raises(TextError, match="the text has 6 tokens, and this model takes at most 5"):
        model.decode(TGT[:, 4:6], memory, SRC, cache)
