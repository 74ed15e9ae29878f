"""Steps with a cache equal reading everything again."""

from typing import Any

import pytest
import torch

import transformer_core as tc
from tests.model.building import DECODER, VARIATIONS, odd_config, random_tokens, shaken_model, varied_model
from transformer_core.decoding.steps import GenerationState
from transformer_core.errors import TextError

WRITING = [name for name, parts in VARIATIONS.items() if parts.get("architecture") != "encoder_only"]


@pytest.fixture(params=WRITING)
def model(request: pytest.FixtureRequest) -> tc.Transformer:
    return varied_model(request.param, max_seq_len=80)


@pytest.mark.parametrize("use_cache", [True, False])
@pytest.mark.parametrize("parts", [{"positions": "relative_buckets"}, DECODER | {"positions": "rotary_halves"}])
def test_a_prefix_is_continued(parts: dict[str, Any], use_cache: bool):
    model = shaken_model(odd_config(**parts))
    tokens = random_tokens([7, 4] if model.encoder else [5, 5], vocab_size=37)
    whole = tc.greedy_decode(model, tokens, max_new_tokens=5)
    first = whole.tokens.shape[1] - 5
    for n in (0, 1, 4):
        begun = whole.tokens[:, first : first + n]
        assert model.config.eos_id not in begun.flatten().tolist()
        decoding = tc.greedy_decode(model, tokens, max_new_tokens=5 - n, use_cache=use_cache, begun=begun)
        assert torch.equal(decoding.tokens, whole.tokens)
        torch.testing.assert_close(decoding.log_probs, whole.log_probs, rtol=0, atol=1e-4)
    with pytest.raises(TextError, match="2 texts and 1 prefixes"):
        tc.greedy_decode(model, tokens, begun=begun[:1])


@torch.no_grad()
def test_many_steps_of_many_beams(model: tc.Transformer):
    """Beams change places, more steps than a chunk of the cache has positions; somebody looks in between."""
    tokens = random_tokens([7, 4] if model.encoder else [5, 5], vocab_size=37)
    cached, whole = (
        GenerationState(model, tokens, max_new_tokens=70, use_cache=is_cached) for is_cached in (True, False)
    )
    for writing in (cached, whole):
        writing.read()
        writing.repeat(3)
    generator = torch.Generator().manual_seed(3)
    for step in range(70):
        beams = torch.randint(3, (2, 3), generator=generator) + torch.tensor([[0], [3]])
        written = torch.randint(1, 37, (6,), generator=generator).tolist()
        for writing in (cached, whole):
            writing.reorder(beams.flatten().tolist())
            writing.write(written)
        if step == 22:
            with tc.capture(model, "decoder.*.self_attn.hook_pattern") as acts:
                actual = cached.read()
            shape = acts["decoder.blocks.1.self_attn.hook_pattern"].shape
            assert shape == (6, model.config.n_heads, 1, len(cached.rows[0]))
        else:
            actual = cached.read()
        if step in (21, 22, 23, 69):
            torch.testing.assert_close(actual[:, -1], whole.read()[:, -1], atol=2e-5, rtol=1e-5)
    assert cached.rows == whole.rows
