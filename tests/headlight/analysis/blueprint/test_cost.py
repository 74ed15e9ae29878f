"""Costs, against what torch counts while real models take their steps, what their caches hold, and sums by hand."""

from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

import transformer_core as tc
from headlight.analysis.blueprint.cost import (
    cache_bytes,
    crossing,
    memory,
    reading_cost,
    reading_costs,
    source_cost,
    step_cost,
    step_costs,
    writing_cost,
)
from headlight.analysis.blueprint.plan import n_parameters
from tests.model.building import ENCODER, VARIATIONS, odd_config, random_tokens, shaken_model
from transformer_core.decoding.cache import KeyValueCache
from transformer_core.errors import ConfigError
from transformer_core.instrument.capture import capture
from transformer_core.model.presets import bert_base, gpt2, transformer_base

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


COUNTED = ("the paper's", "decoder, rotary", "encoder", "rotary, groups")


@pytest.mark.parametrize("variation", COUNTED)
def test_reading_costs_what_torch_counts(variation: str):
    model = shaken_model(odd_config(**VARIATIONS[variation])).requires_grad_(False)
    length = 11
    tokens = random_tokens([length], vocab_size=37)
    inputs = (tokens, tokens) if model.config.architecture == "encoder_decoder" else (tokens,)
    with tc.capture(model, "*.hook_pattern"), FlopCounterMode(display=False) as counter:
        model(*inputs)
    assert counter.get_total_flops() == 2 * reading_cost(model.config, length).total


@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.parametrize("length", [0, 1, 2, 3, 4, 5, 37])
@pytest.mark.parametrize("config", [odd_config(), odd_config(**VARIATIONS["decoder, rotary"])])
def test_writing_is_the_sum_of_its_steps(config: tc.ModelConfig, length: int, cached: bool):
    n_src = length if config.has_encoder else 0
    naive = sum(step.total for step in step_costs(config, length, n_src=n_src, cached=cached))
    naive += source_cost(config, n_src).total if config.has_encoder else 0
    assert writing_cost(config, length, cached=cached) == naive


def test_attention_overtakes_the_feed_forward_network_at_d_ff():
    """2 n^2 d against 2 n d d_ff: in GPT-2 just above 3,072 tokens."""
    assert crossing(gpt2(), "attention", "feed_forward") == 3073
    at = reading_costs(gpt2(), [3072, 3073])
    assert at["attention"][0] == at["feed_forward"][0] and at["attention"][1] > at["feed_forward"][1]
    assert crossing(odd_config(**VARIATIONS["decoder, attention only"]), "attention", "feed_forward") == 1
    assert crossing(gpt2(), "projections", "feed_forward") is None


def test_memory_by_hand():
    config = gpt2()
    held = memory(config, 1000, n_parameters=n_parameters(config))
    assert held.weights == 4 * 124_439_808  # as the released model counts
    assert held.cache == 12 * 1000 * 2 * 768 * 4
    assert held.patterns == 12 * 12 * 1000 * 1000 * 4
    assert memory(bert_base(), 10, n_parameters=1).cache == 0
    both = memory(transformer_base(), 10, n_parameters=1, bytes_per_number=2)
    assert both.patterns == 18 * 8 * 100 * 2 and both.cache == 2 * 6 * 10 * 2 * 512 * 2
