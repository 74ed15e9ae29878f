"""Greedy decoding is a plain loop that reads everything anew at each step, only faster."""

from copy import deepcopy
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from transformer_core.config import ModelConfig
from transformer_core.decoding.greedy import greedy_decode
from transformer_core.errors import ConfigError, TextError
from transformer_core.hooks import active_hooks, named_hook_points
from transformer_core.instrument.capture import capture
from transformer_core.model.transformer import Transformer, build

VARIANTS: list[dict[str, Any]] = [
    {},
    {"positions": "learned", "norm_position": "pre", "tie_embeddings": "none"},
    {"positions": "sinusoidal_halves", "tie_embeddings": "target", "attention_bias": "none"},
    {"positions": "sinusoidal_halves", "norm_position": "pre", "d_model": 30, "n_heads": 5, "n_decoder_layers": 3},
    {"positions": "learned", "d_model": 8, "n_heads": 1, "n_decoder_layers": 1, "vocab_size": 50},
]
SEEDS = range(5)  # each with a variant
every_seed = pytest.mark.parametrize("seed", SEEDS)


def small_config(**changes: Any) -> ModelConfig:
    sizes = {"vocab_size": 13, "d_model": 12, "d_ff": 20, "n_heads": 3, "max_seq_len": 8}
    layers = {"n_encoder_layers": 1, "n_decoder_layers": 2}
    return ModelConfig(**(sizes | layers | changes))


def random_model(seed: int, **changes: Any) -> Transformer:
    """A model that ends some of its outputs: its <eos> is a token that it likes to write."""
    model = build(small_config(**changes), seed=seed).eval()
    with torch.no_grad():
        model.unembed.weight[0] = 0  # logit 0: some other token is always better than <pad>
    src = padded(random_sources(seed, model.config.vocab_size))
    liked = greedy_decode(model, src, max_new_tokens=2 + seed % 3, use_cache=False).tokens[0, -1]
    model.config = replace(model.config, eos_id=int(liked))
    return model


def random_sources(seed: int, vocab_size: int) -> list[Tensor]:
    """Three sources of different lengths, without padding."""
    generator = torch.Generator().manual_seed(seed)
    return [torch.randint(3, vocab_size, (n,), generator=generator) for n in (5, 1, 8)]


def padded(sources: list[Tensor]) -> Tensor:
    return pad_sequence(sources, batch_first=True, padding_value=0)


class Case:
    """A model, three sources, and what it makes of them as a batch."""

    def __init__(self, seed: int) -> None:
        self.model = random_model(seed, **VARIANTS[seed])
        self.sources = random_sources(seed, self.model.config.vocab_size)
        self.src = padded(self.sources)
        self.decodings = {
            use_cache: greedy_decode(self.model, self.src, use_cache=use_cache) for use_cache in (True, False)
        }


case = cache(Case)


@torch.no_grad()
def written_naively(model: Transformer, source: Tensor, n_steps: int) -> tuple[list[int], list[float]]:
    """One text, no batch, no cache, no padding: read all, take the best, append."""
    config = model.config
    tokens, log_probs = [config.bos_id], []
    for _ in range(n_steps):
        log_prob = F.log_softmax(model(source[None], torch.tensor([tokens]))[0, -1], dim=0).tolist()
        best = max((i for i in range(config.vocab_size) if i != config.pad_id), key=lambda i: log_prob[i])
        tokens.append(best)
        log_probs.append(log_prob[best])
        if best == config.eos_id:
            break
    return tokens, log_probs


@every_seed
def test_it_is_the_naive_loop(seed: int):
    model, decoding = case(seed).model, case(seed).decodings[True]
    for row, source in enumerate(case(seed).sources):
        tokens, log_probs = written_naively(model, source, n_steps=7)
        n_padding = decoding.tokens.shape[1] - len(tokens)
        assert decoding.tokens[row].tolist() == tokens + [0] * n_padding
        assert decoding.log_probs[row].tolist() == pytest.approx(log_probs + [0.0] * n_padding, abs=1e-5)


def test_some_outputs_end_and_some_do_not():
    """Else these tests would not see both."""
    has_ended = [(case(seed).decodings[True].tokens == case(seed).model.config.eos_id).any(dim=1) for seed in SEEDS]
    assert any(bool(rows.any() and not rows.all()) for rows in has_ended)
    assert 3 <= int(torch.cat(has_ended).sum()) <= 12


@every_seed
def test_the_cache_changes_nothing_up_to_the_rounding_of_float64(seed: int):
    model, src = deepcopy(case(seed).model).double(), case(seed).src
    cached, uncached = greedy_decode(model, src), greedy_decode(model, src, use_cache=False)
    assert torch.equal(cached.tokens, uncached.tokens) and cached.log_probs.dtype == torch.float64
    torch.testing.assert_close(cached.log_probs, uncached.log_probs, rtol=0, atol=1e-12)


@pytest.mark.parametrize("use_cache", [True, False])
@every_seed
def test_a_row_does_not_depend_on_the_others(seed: int, use_cache: bool):
    together = case(seed).decodings[use_cache]
    for row, source in enumerate(case(seed).sources):
        alone = greedy_decode(case(seed).model, source[None], use_cache=use_cache)
        n = alone.tokens.shape[1]
        assert torch.equal(together.tokens[row, :n], alone.tokens[0])
        assert not together.tokens[row, n:].any()
        assert not together.log_probs[row, n - 1 :].any()
        torch.testing.assert_close(together.log_probs[row, : n - 1], alone.log_probs[0], rtol=1e-5, atol=1e-5)


@every_seed
def test_after_the_end_comes_padding(seed: int):
    decoding = case(seed).decodings[True]
    ended = (decoding.tokens[:, 1:] == case(seed).model.config.eos_id).cumsum(dim=1) > 0
    is_padding = decoding.tokens[:, 1:] == 0
    assert torch.equal(is_padding[:, 1:], ended[:, :-1])
    assert not is_padding[:, 0].any()
    assert (decoding.log_probs[is_padding] == 0).all()
    assert (decoding.log_probs[~is_padding] < 0).all()
    assert (decoding.tokens[:, 0] == 1).all()


def test_without_padding_in_the_model_the_end_is_repeated():
    model = random_model(0)
    with_padding = greedy_decode(model, torch.tensor([[4, 5, 6], [7, 8, 9]]))
    model.config = replace(model.config, pad_id=None)
    without = greedy_decode(model, torch.tensor([[4, 5, 6], [7, 8, 9]]))
    expected = with_padding.tokens.masked_fill(with_padding.tokens == 0, model.config.eos_id)
    assert torch.equal(without.tokens, expected)


@pytest.mark.parametrize("max_new_tokens", [1, 3, 7, None])
def test_at_most_so_many_tokens(max_new_tokens: int | None):
    model = random_model(1)
    model.config = replace(model.config, eos_id=0)  # <pad> is never the best, so no row ends by itself
    src = padded(random_sources(1, 13))
    decoding = greedy_decode(model, src, max_new_tokens=max_new_tokens)
    longest = greedy_decode(model, src)
    n_new = max_new_tokens or 7
    assert decoding.tokens.shape == (3, 1 + n_new)
    assert decoding.log_probs.shape == (3, n_new)
    assert torch.equal(decoding.tokens, longest.tokens[:, : 1 + n_new])


def test_a_length_that_cannot_be():
    model = random_model(0)
    for max_new_tokens in (0, -1, 8):
        with pytest.raises(ConfigError, match=rf"max_new_tokens \({max_new_tokens}\) must be from 1 to 7"):
            greedy_decode(model, torch.tensor([[4, 2]]), max_new_tokens=max_new_tokens)
    for length in (0, 9):
        with pytest.raises(TextError):
            greedy_decode(model, torch.full((2, length), 4))
    with pytest.raises(ConfigError):  # <bos> takes the only position there is
        greedy_decode(build(small_config(max_seq_len=1)).eval(), torch.tensor([[2]]))


ONE_STACK = {"architecture": "decoder_only", "n_encoder_layers": 0, "tie_embeddings": "target"}


@pytest.mark.parametrize("changes", [{}, ONE_STACK], ids=["encoder-decoder", "decoder-only"])
@pytest.mark.parametrize("row", [[0, 0, 4], [4, 0, 5]])
@pytest.mark.parametrize("use_cache", [True, False])
def test_padding_in_front_of_a_token_is_refused(changes: dict[str, Any], row: list[int], use_cache: bool):
    """Positions would be counted from the padding on, and with a cache such keys would be taken for tokens."""
    model = build(small_config(**changes)).eval()
    with pytest.raises(TextError, match="row 1 has padding before a token"):
        greedy_decode(model, torch.tensor([[4, 5, 6], row]), max_new_tokens=2, use_cache=use_cache)


def test_a_first_token_that_is_also_padding_begins_a_text():
    model = build(small_config(**ONE_STACK, bos_id=0)).eval()
    alone = greedy_decode(model, torch.tensor([[0, 4]]), max_new_tokens=2).tokens[0].tolist()
    batch = greedy_decode(model, torch.tensor([[0, 4, 0], [0, 4, 5]]), max_new_tokens=2).tokens[0].tolist()
    assert batch[: len(alone)] == alone


def test_it_can_be_watched():
    """With a cache each site sees the new positions only; the result is the same as unwatched."""
    model = random_model(2)
    src = padded(random_sources(2, 13))
    points = named_hook_points(model)
    lengths: dict[str, list[int]] = {"hook_resid_post": [], "self_attn.hook_pattern": [], "self_attn.hook_k": []}

    def note(stem: str, value: Tensor) -> Tensor:
        lengths[stem].append(value.shape[-2])
        return value

    sites = {points[f"decoder.blocks.0.{stem}"]: lambda value, stem=stem: note(stem, value) for stem in lengths}
    for use_cache in (True, False):
        unwatched = greedy_decode(model, src, use_cache=use_cache)
        with active_hooks(sites), capture(model, "*") as acts:
            watched = greedy_decode(model, src, use_cache=use_cache)
        n_steps = watched.log_probs.shape[1]
        expected = [1] * n_steps if use_cache else [*range(1, n_steps + 1)]
        assert set(map(tuple, lengths.values())) == {tuple(expected)}
        assert acts["decoder.blocks.0.self_attn.hook_pattern"].shape == (3, 3, expected[-1], n_steps)
        assert torch.equal(watched.tokens, unwatched.tokens)
        torch.testing.assert_close(watched.log_probs, unwatched.log_probs, rtol=1e-5, atol=1e-5)
        for seen in lengths.values():
            seen.clear()


def test_the_result_can_be_read_with_gradients():
    """Whoever decodes, then looks at gradients of what was written, needs ordinary tensors."""
    model = random_model(3)
    src = torch.tensor([[4, 5, 2]])
    decoding = greedy_decode(model, src)
    assert not decoding.log_probs.is_inference()
    log_probs = F.log_softmax(model(src, decoding.tokens[:, :-1]), dim=-1)
    written = log_probs.gather(-1, decoding.tokens[:, 1:, None])[..., 0]
    torch.testing.assert_close(written, decoding.log_probs, rtol=1e-5, atol=1e-5)
    written.sum().backward()
    gradients = [parameter.grad for parameter in model.parameters()]
    assert all(gradient is not None and gradient.isfinite().all() and gradient.any() for gradient in gradients)


def test_what_a_hook_keeps_can_be_used_in_gradients():
    """Without hooks the model runs in torch's inference mode, whose tensors cannot be."""
    model, src = random_model(3), torch.tensor([[4, 5, 2]])
    with capture(model, "*") as acts:
        greedy_decode(model, src)
    kept = [acts["decoder.blocks.0.hook_resid_post"]]
    model.get_submodule("decoder.blocks.0").register_forward_hook(lambda module, given, out: kept.append(out))
    greedy_decode(model, src)
    for value in (kept[0], kept[-1]):
        probe = torch.ones(value.shape[-1], requires_grad=True)
        (value @ probe).square().sum().backward()
        assert probe.grad is not None and probe.grad.abs().sum() > 0


def test_padding_is_never_written():
    model = random_model(4, tie_embeddings="none")
    src = padded(random_sources(4, 13))
    favorite = greedy_decode(model, src, max_new_tokens=2).tokens[0, 2]
    with torch.no_grad():
        model.unembed.weight[0] = 2 * model.unembed.weight[favorite]  # <pad> is better wherever that token was best
    cached, uncached = greedy_decode(model, src), greedy_decode(model, src, use_cache=False)
    assert cached.tokens[0, 2] == favorite
    assert torch.equal(cached.tokens, uncached.tokens)
    torch.testing.assert_close(cached.log_probs, uncached.log_probs, rtol=1e-5, atol=1e-5)
