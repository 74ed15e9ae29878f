"""What a model costs by length, against torch's own count of operations, and sums step by step."""

import pytest
from torch.utils.flop_counter import FlopCounterMode

import transformer_core as tc
from headlight.analysis.blueprint.decoding_cost import source_cost, step_costs
from headlight.analysis.blueprint.forward_cost import (
    crossing,
    memory,
    reading_cost,
    reading_costs,
    writing_cost,
)
from headlight.analysis.blueprint.weights import n_parameters
from tests.model.building import VARIATIONS, odd_config, random_tokens, shaken_model
from transformer_core.model.presets import bert_base, gpt2, transformer_base

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
