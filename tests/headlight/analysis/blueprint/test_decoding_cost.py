"""What steps cost, held against what torch counts while real models take them, and what their caches really hold."""

from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

import transformer_core as tc
from headlight.analysis.blueprint.decoding_cost import cache_bytes, source_cost, step_cost
from tests.model.building import ENCODER, VARIATIONS, odd_config, random_tokens, shaken_model
from transformer_core.decoding.cache import KeyValueCache
from transformer_core.errors import ConfigError
from transformer_core.instrument.capture import capture

N_SRC = 5
each_that_costs_otherwise = pytest.mark.parametrize(
    "variation", ["the paper's", "rotary, groups", "decoder, rotary", "decoder, q/k norm"]
)


def multiply_adds(model: tc.Transformer, *inputs: Any) -> int:
    """What torch counts in one `decode`, attention written out; a floating-point operation is half of one."""
    with FlopCounterMode(display=False) as counted, capture(model, "decoder.*.hook_pattern"):
        model.decode(*inputs)
    assert counted.get_total_flops() % 2 == 0
    return counted.get_total_flops() // 2


@each_that_costs_otherwise
@torch.inference_mode()
def test_steps_cost_what_torch_counts(variation: str):
    """Three tokens, then two more after them, then all five without a cache."""
    config = odd_config(**VARIATIONS[variation])
    model = shaken_model(config)
    src = random_tokens([N_SRC], vocab_size=config.vocab_size) if config.has_encoder else None
    memory = None if src is None else model.encode(src)
    n_src = 0 if src is None else N_SRC
    tokens = random_tokens([5], vocab_size=config.vocab_size, seed=3)
    cache = KeyValueCache(config.n_decoder_layers)
    first = multiply_adds(model, tokens[:, :3], memory, src, cache)
    then = multiply_adds(model, tokens[:, 3:], memory, src, cache)
    without = multiply_adds(model, tokens, memory, src)
    assert step_cost(config, 0, n_new=3, n_src=n_src).total == first
    assert step_cost(config, 3, n_new=2, n_src=n_src).total == then
    assert step_cost(config, 3, n_new=2, n_src=n_src, cached=False).total == without


@torch.inference_mode()
def test_the_source_costs_what_torch_counts():
    model = shaken_model(odd_config(n_kv_heads=1, gated=True, d_head=10))
    src = random_tokens([N_SRC], vocab_size=model.config.vocab_size)
    with FlopCounterMode(display=False) as counted, capture(model, "encoder.*.hook_pattern"):
        model.encode(src)
    assert 2 * source_cost(model.config, N_SRC).total == counted.get_total_flops()


@each_that_costs_otherwise
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@torch.inference_mode()
def test_a_cache_holds_as_many_bytes(variation: str, dtype: torch.dtype):
    config = odd_config(**VARIATIONS[variation])
    model = shaken_model(config).to(dtype)
    src = random_tokens([N_SRC], vocab_size=config.vocab_size) if config.has_encoder else None
    cache = KeyValueCache(config.n_decoder_layers)
    model.decode(
        random_tokens([6], vocab_size=config.vocab_size), None if src is None else model.encode(src), src, cache
    )
    memory = cache_bytes(config, 6, N_SRC if src is not None else 0, bytes_per_number=dtype.itemsize)
    assert memory.self_attn == sum(block.self_attn.written.nbytes for block in cache.blocks)
    of_source = [part for block in cache.blocks for part in (block.cross_attn.complete or ())]
    assert memory.cross_attn == sum(part.nbytes for part in of_source)
    assert memory.total == memory.self_attn + memory.cross_attn


def test_a_model_that_does_not_write_has_no_steps():
    with pytest.raises(ConfigError, match="encoder-only"):
        step_cost(odd_config(**ENCODER), 0)
