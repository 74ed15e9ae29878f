"""Steps with a cache equal reading everything again; little work runs on one thread."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch

import transformer_core as tc
from tests.model.building import DECODER, VARIATIONS, odd_config, random_tokens, shaken_model, varied_model
from transformer_core.decoding.steps import GenerationState, threads_for
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


@pytest.fixture
def three_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def test_little_work_takes_one_thread_and_much_takes_all(three_threads: None):
    config = tc.presets.tiny_decoder(vocab_size=100)
    products = [weight.numel() for name, weight in tc.build(config).named_parameters() if name.endswith("weight")]
    n_tokens = int(60e6 / sum(products))
    seen = []
    for n in (1, int(0.9 * n_tokens), int(1.1 * n_tokens)):
        with threads_for(config, n):
            seen.append(torch.get_num_threads())
    assert seen == [1, 1, 3]


def test_threads_come_back_after_an_error(three_threads: None):
    with pytest.raises(KeyError), threads_for(tc.presets.tiny_decoder(vocab_size=100), 1):
        raise KeyError
    assert torch.get_num_threads() == 3


def test_decoding_takes_one_thread_in_each_step(three_threads: None):
    model = tc.build(tc.presets.tiny_decoder(vocab_size=100)).eval()
    seen = []
    assert model.decoder is not None
    model.decoder.register_forward_hook(lambda *_: seen.append(torch.get_num_threads()))
    prompt = torch.tensor([[5, 6, 7]])
    tc.greedy_decode(model, prompt, max_new_tokens=3)
    tc.beam_search(model, prompt, n_beams=2, max_new_tokens=3)
    tc.DecodingTree(model, prompt, max_new_tokens=3)
    assert len(seen) >= 7 and set(seen) == {1}
    assert torch.get_num_threads() == 3
