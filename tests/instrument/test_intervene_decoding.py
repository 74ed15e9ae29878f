"""Interventions while a text is written: with the cache and without, the same text comes out."""

from typing import Any

import pytest
import torch
from torch import Tensor

import transformer_core as tc
from tests.model.building import random_tokens, shaken_model, small_config
from transformer_core.decoding.beam import beam_search
from transformer_core.errors import InterventionError

SELF, CROSS, BLOCK = (f"decoder.blocks.0{part}" for part in (".self_attn", ".cross_attn", ""))
PROMPTS, SOURCES = random_tokens([4, 6, 3], vocab_size=13), random_tokens([7, 4, 5], vocab_size=13)
N_NEW = 5


@pytest.fixture(scope="module")
def decoder() -> tc.Transformer:
    config = small_config(architecture="decoder_only", n_encoder_layers=0, tie_embeddings="target")
    return shaken_model(config, seed=2)


@pytest.fixture(scope="module")
def translator() -> tc.Transformer:
    return shaken_model(small_config(norm_position="pre"), seed=4)


def other_run(model: tc.Transformer) -> tc.Activations:
    """A text as long as the model allows, for values to be taken from."""
    text = random_tokens([12], vocab_size=13, seed=9)
    with torch.no_grad(), tc.capture(model, "*") as acts:
        model(*([text, text] if model.encoder is not None else [text]))
    return acts


def by_position(value: Tensor, site: tc.Site) -> Tensor:
    """A person's own function, which goes by the position in the whole text."""
    position = torch.arange(site.first, site.first + value.shape[-2], device=value.device)
    return value * (1 + 0.1 * position)[:, None]


def own_future_edges(value: Tensor, site: tc.Site) -> Tensor:
    """Query 6 does not see key 2: only where both are there."""
    query = torch.arange(site.first, site.first + value.shape[-2])[:, None]
    return value & ~((query == 6) & (torch.arange(value.shape[-1]) == 2))


EVERYWHERE: dict[str, tuple[str, Any]] = {
    "a head": (f"{SELF}.hook_z", tc.zero_heads([1])),
    "positions of the prompt and after it": (f"{BLOCK}.hook_resid_mid", tc.zero(positions=[0, 2, 5, 7])),
    "keys": (f"{SELF}.hook_k", tc.scale(-1.0, positions=[1, 5])),
    "edges in the scores": (f"{SELF}.hook_attn_scores", tc.knock_out([(0, None, 0), (None, 6, 2), (1, 5, 5)])),
    "cells": (f"{SELF}.hook_pattern", tc.set_cells({(0, 5, 1): 0.5, (1, None, 0): 0.2}, renormalize=True)),
    "a person's own mask": (f"{SELF}.hook_mask", own_future_edges),
    "several": (f"{SELF}.hook_z", [by_position, tc.zero(heads=[0], positions=[4]), tc.scale(2.0)]),
}
FROM_A_RUN: dict[str, tuple[str, Any]] = {
    "a patched pattern": (f"{SELF}.hook_pattern", lambda acts: tc.patch(acts, heads=[1])),
    "resampled": (f"{SELF}.hook_z", lambda acts: tc.resample(acts, heads=[1])),
}
OF_TWO_STACKS: dict[str, tuple[str, Any]] = {
    "the source's keys": (f"{CROSS}.hook_k", tc.scale(-2.0, positions=[3, 6])),
    "the source's values": (f"{CROSS}.hook_v", by_position),
    "cells of the source": (f"{CROSS}.hook_pattern", tc.set_cells({(None, 2, 3): 0.9}, renormalize=True)),
}


def assert_the_cache_changes_nothing(model: tc.Transformer, tokens: Tensor, interventions: dict[str, Any]) -> None:
    plain = tc.greedy_decode(model, tokens, max_new_tokens=N_NEW)
    with tc.intervene(model, interventions):
        cached = tc.greedy_decode(model, tokens, max_new_tokens=N_NEW)
        uncached = tc.greedy_decode(model, tokens, max_new_tokens=N_NEW, use_cache=False)
    assert torch.equal(cached.tokens, uncached.tokens)
    torch.testing.assert_close(cached.log_probs, uncached.log_probs, rtol=0, atol=1e-5)
    n = min(plain.log_probs.shape[1], cached.log_probs.shape[1])
    assert (plain.log_probs[:, :n] - cached.log_probs[:, :n]).abs().max() > 1e-4


@pytest.mark.parametrize("what", [*EVERYWHERE, *FROM_A_RUN])
def test_a_decoder_goes_on_with_prompts(decoder: tc.Transformer, what: str):
    site, intervention = EVERYWHERE.get(what) or FROM_A_RUN[what]
    chosen = intervention(other_run(decoder)) if what in FROM_A_RUN else intervention
    assert_the_cache_changes_nothing(decoder, PROMPTS, {site: chosen})


@pytest.mark.parametrize("what", ["a head", "cells", "several", "resampled", *OF_TWO_STACKS])
def test_an_encoder_decoder_writes(translator: tc.Transformer, what: str):
    site, intervention = (EVERYWHERE | FROM_A_RUN | OF_TWO_STACKS)[what]
    chosen = intervention(other_run(translator)) if what in FROM_A_RUN else intervention
    assert_the_cache_changes_nothing(translator, SOURCES, {site: chosen})


@pytest.mark.parametrize("positions", ["alibi", "rotary_halves", "relative_buckets"])
def test_wherever_positions_act(positions: Any):
    config = small_config(
        architecture="decoder_only",
        n_encoder_layers=0,
        tie_embeddings="target",
        positions=positions,
        d_head=4,
        sliding_window=3,
    )
    for what in ("edges in the scores", "keys"):
        site, intervention = EVERYWHERE[what]
        assert_the_cache_changes_nothing(shaken_model(config, seed=3), PROMPTS, {site: intervention})


def test_a_search_with_beams(translator: tc.Transformer):
    for site, intervention in (EVERYWHERE["a head"], EVERYWHERE["cells"], OF_TWO_STACKS["the source's values"]):
        with tc.intervene(translator, {site: intervention}):
            cached = beam_search(translator, SOURCES, n_beams=3, max_new_tokens=N_NEW)
            uncached = beam_search(translator, SOURCES, n_beams=3, max_new_tokens=N_NEW, use_cache=False)
        assert torch.equal(cached.tokens, uncached.tokens)
        torch.testing.assert_close(cached.log_probs, uncached.log_probs, rtol=0, atol=1e-5)


def test_what_a_function_is_told_of_the_positions(decoder: tc.Transformer, translator: tc.Transformer):
    """The prompt at once, then one position a step; the source's keys and values once, from its first position on."""
    seen: list[tuple[str, int, int]] = []

    def look(value: Tensor, site: tc.Site) -> Tensor:
        seen.append((site.stem, site.first, value.shape[-2]))
        return value

    with tc.intervene(decoder, {f"{SELF}.hook_k": look, "hook_logits": look}):
        tc.greedy_decode(decoder, PROMPTS[:1, :4], max_new_tokens=3)
    assert seen[:2] == [("hook_k", 0, 4), ("hook_logits", 0, 4)]
    assert seen[2:] == [(stem, first, 1) for first in (4, 5) for stem in ("hook_k", "hook_logits")]
    seen.clear()
    with tc.intervene(translator, {"*.hook_k": look, f"{CROSS}.hook_z": look}):
        tc.greedy_decode(translator, SOURCES[:1], max_new_tokens=2)
    encoder, first_step = [("hook_k", 0, 7)], [("hook_k", 0, 1), ("hook_k", 0, 7), ("hook_z", 0, 1)]
    assert seen == [*encoder, *first_step, ("hook_k", 1, 1), ("hook_z", 1, 1)]


def test_a_mean_over_positions_needs_them_all(decoder: tc.Transformer):
    edits = {f"{SELF}.hook_z": tc.average(heads=[0])}
    with (
        tc.intervene(decoder, edits),
        pytest.raises(InterventionError, match="with a cache the other positions are not"),
    ):
        tc.greedy_decode(decoder, PROMPTS, max_new_tokens=N_NEW)
    with tc.intervene(decoder, edits):
        tc.greedy_decode(decoder, PROMPTS, max_new_tokens=N_NEW, use_cache=False)


def test_a_position_that_the_text_did_not_reach_is_no_error(decoder: tc.Transformer):
    """It may end before."""
    plain = tc.greedy_decode(decoder, PROMPTS, max_new_tokens=2)
    with tc.intervene(decoder, {f"{BLOCK}.hook_resid_mid": tc.zero(positions=[11])}):
        assert torch.equal(tc.greedy_decode(decoder, PROMPTS, max_new_tokens=2).tokens, plain.tokens)
