"""Steps with a cache give what reading everything anew gives, whatever a person has done to the modules."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

import transformer_core as tc
from tests.model.building import DECODER, VARIATIONS, odd_config, random_tokens, shaken_model, varied_model
from transformer_core.decoding.steps import GenerationState

WRITING = [name for name, parts in VARIATIONS.items() if parts.get("architecture") != "encoder_only"]


@pytest.fixture(params=WRITING)
def model(request: pytest.FixtureRequest) -> tc.Transformer:
    return varied_model(request.param, max_seq_len=80)


@torch.no_grad()
def test_a_step_gives_the_log_probabilities_of_a_whole_reading(model: tc.Transformer):
    tokens = random_tokens([7, 4] if model.encoder else [5, 5], vocab_size=37)
    cached, whole = (
        GenerationState(model, tokens, max_new_tokens=9, use_cache=is_cached) for is_cached in (True, False)
    )
    generator = torch.Generator().manual_seed(1)
    for _ in range(8):
        torch.testing.assert_close(cached.read()[:, -1], whole.read()[:, -1], atol=1e-5, rtol=1e-5)
        written = torch.randint(1, 37, (2,), generator=generator).tolist()
        cached.write(written)
        whole.write(written)


@pytest.mark.parametrize("use_cache", [True, False])
@pytest.mark.parametrize("parts", [{"positions": "relative_buckets"}, DECODER | {"positions": "rotary_halves"}])
def test_what_is_begun_is_gone_on_with(parts: dict[str, Any], use_cache: bool):
    """As if the model had written it itself."""
    model = shaken_model(odd_config(**parts))
    tokens = random_tokens([7, 4] if model.encoder else [5, 5], vocab_size=37)
    whole = tc.greedy_decode(model, tokens, max_new_tokens=5)
    first = whole.tokens.shape[1] - 5
    for n in (0, 1, 4):
        begun = whole.tokens[:, first : first + n]
        assert not (begun == model.config.eos_id).any()
        decoding = tc.greedy_decode(model, tokens, max_new_tokens=5 - n, use_cache=use_cache, begun=begun)
        assert torch.equal(decoding.tokens, whole.tokens)
        torch.testing.assert_close(decoding.log_probs, whole.log_probs, rtol=0, atol=1e-4)


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
                found = cached.read()
            assert acts["decoder.blocks.1.self_attn.hook_pattern"].shape == (
                6,
                model.config.n_heads,
                1,
                len(cached.rows[0]),
            )
        else:
            found = cached.read()
        if step in (21, 22, 23, 69):
            torch.testing.assert_close(found[:, -1], whole.read()[:, -1], atol=2e-5, rtol=1e-5)
    assert cached.rows == whole.rows


class Halved(nn.Module):
    def forward(self, weight: Tensor) -> Tensor:
        return weight / 2


class Adapted(nn.Module):
    """A layer with a small one beside it, as LoRA puts them."""

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        self.layer = layer
        self.down = nn.Linear(layer.in_features, 2, bias=False)
        self.up = nn.Linear(2, layer.out_features, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x) + 3.0 * self.up(self.down(x))


class Doubled(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        return 2.0 * super().forward(x)


def hooked(model: tc.Transformer) -> None:
    last_block(model).self_attn.register_forward_hook(lambda module, args, out: torch.zeros_like(out))


def hooked_before(model: tc.Transformer) -> None:
    last_block(model).mlp.register_forward_pre_hook(lambda module, args: (args[0] * 2,))


def parametrized(model: tc.Transformer) -> None:
    parametrize.register_parametrization(last_block(model).self_attn.v, "weight", Halved())


def adapted(model: tc.Transformer) -> None:
    torch.manual_seed(0)
    last_block(model).self_attn.q = Adapted(last_block(model).self_attn.q)


def replaced(model: tc.Transformer) -> None:
    last_block(model).ln2 = nn.Identity()


def of_a_subclass(model: tc.Transformer) -> None:
    last_block(model).mlp.down.__class__ = Doubled


def last_block(model: tc.Transformer) -> Any:
    assert model.decoder is not None
    return model.decoder.blocks[-1]


@pytest.mark.parametrize("change", [hooked, hooked_before, parametrized, adapted, replaced, of_a_subclass])
@pytest.mark.parametrize("parts", [{}, DECODER], ids=["both", "decoder"])
@torch.no_grad()
def test_what_is_done_to_a_module_takes_effect(change: Callable[[tc.Transformer], None], parts: dict[str, Any]):
    model = shaken_model(odd_config(**parts))
    tokens = random_tokens([6, 6], vocab_size=37)
    plain = tc.greedy_decode(model, tokens, max_new_tokens=5).log_probs
    change(model)
    cached, whole = (tc.greedy_decode(model, tokens, max_new_tokens=5, use_cache=yes) for yes in (True, False))
    assert torch.equal(cached.tokens, whole.tokens)
    torch.testing.assert_close(cached.log_probs, whole.log_probs, atol=1e-5, rtol=1e-5)
    assert plain.shape != cached.log_probs.shape or (plain - cached.log_probs).abs().max() > 1e-3
    beams = [tc.beam_search(model, tokens, n_beams=3, max_new_tokens=5, use_cache=yes) for yes in (True, False)]
    assert torch.equal(beams[0].tokens, beams[1].tokens)


def test_who_looks_between_two_steps_sees_them(model: tc.Transformer):
    tokens = random_tokens([6], vocab_size=37)
    with torch.no_grad():
        writing = GenerationState(model, tokens, max_new_tokens=5)
        for _ in range(2):
            writing.read()
            writing.write(tokens[:, 0].tolist())
        with tc.capture(model, "decoder.*.self_attn.hook_pattern") as acts:
            writing.read()
    n_read = writing.tokens.shape[1]
    assert acts["decoder.blocks.1.self_attn.hook_pattern"].shape == (1, model.config.n_heads, 1, n_read)
