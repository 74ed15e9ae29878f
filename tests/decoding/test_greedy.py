"""Greedy decoding is a plain loop that reads everything again at each step, only faster."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from tests.model.building import DECODER, small_config
from transformer_core.decoding.greedy import greedy_decode
from transformer_core.errors import ConfigError, TextError
from transformer_core.instrument.capture import capture
from transformer_core.model.transformer import Transformer, build

VARIANTS: list[dict[str, Any]] = [
    {},
    {"positions": "learned", "norm_position": "pre", "tie_embeddings": "none"},
    {"positions": "sinusoidal_halves", "tie_embeddings": "target", "attention_bias": "none"},
    {"positions": "sinusoidal_halves", "norm_position": "pre", "d_model": 30, "n_heads": 5, "n_decoder_layers": 3},
    {"positions": "learned", "d_model": 8, "n_heads": 1, "n_decoder_layers": 1, "vocab_size": 50},
]


def random_model(seed: int, **changes: Any) -> Transformer:
    """A model that ends some of its outputs: its <eos> is a token that it likes to write."""
    sizes = {"d_model": 12, "d_ff": 20, "n_heads": 3, "n_decoder_layers": 2, "max_seq_len": 8}
    model = build(small_config(**sizes | changes), seed=seed).eval()
    with torch.no_grad():
        model.unembed.weight[0] = 0  # logit 0: some other token is always better than <pad>
    src = padded(random_sources(seed, model.config.vocab_size))
    liked = greedy_decode(model, src, max_new_tokens=2 + seed % 3, use_cache=False).tokens[0, -1]
    model.config = replace(model.config, eos_id=int(liked))
    return model


def random_sources(seed: int, vocab_size: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randint(3, vocab_size, (n,), generator=generator) for n in (5, 1, 8)]


def padded(sources: list[Tensor]) -> Tensor:
    return pad_sequence(sources, batch_first=True, padding_value=0)


@torch.no_grad()
def written_naively(model: Transformer, source: Tensor, n_steps: int) -> tuple[list[int], list[float]]:
    """One text, no batch, no cache, no padding: read all, take the best, append."""
    config = model.config
    assert config.bos_id is not None
    tokens, log_probs = [config.bos_id], []
    for _ in range(n_steps):
        log_prob = F.log_softmax(model(source[None], torch.tensor([tokens]))[0, -1], dim=0).tolist()
        best = max((i for i in range(config.vocab_size) if i != config.pad_id), key=lambda i: log_prob[i])
        tokens.append(best)
        log_probs.append(log_prob[best])
        if best == config.eos_id:
            break
    return tokens, log_probs


@pytest.mark.parametrize("use_cache", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_naive_loop(seed: int, use_cache: bool):
    model = random_model(seed, **VARIANTS[seed])
    sources = random_sources(seed, model.config.vocab_size)
    decoding = greedy_decode(model, padded(sources), use_cache=use_cache)
    for row, source in enumerate(sources):
        tokens, log_probs = written_naively(model, source, n_steps=7)
        n_padding = decoding.tokens.shape[1] - len(tokens)
        assert decoding.tokens[row].tolist() == tokens + [0] * n_padding
        assert decoding.log_probs[row].tolist() == pytest.approx(log_probs + [0.0] * n_padding, abs=1e-5)


def test_without_padding_in_the_model_the_end_is_repeated():
    model, src = random_model(0), torch.tensor([[4, 5, 6], [7, 8, 9]])
    with_padding = greedy_decode(model, src)
    model.config = replace(model.config, pad_id=None)
    expected = with_padding.tokens.masked_fill(with_padding.tokens == 0, model.config.eos_id)
    assert (with_padding.tokens == 0).any() and torch.equal(greedy_decode(model, src).tokens, expected)


def test_a_length_that_cannot_be():
    model = random_model(0)
    for max_new_tokens in (0, 8):
        with pytest.raises(ConfigError, match=rf"max_new_tokens \({max_new_tokens}\) must be from 1 to 7"):
            greedy_decode(model, torch.tensor([[4, 2]]), max_new_tokens=max_new_tokens)
    for length in (0, 9):
        with pytest.raises(TextError):
            greedy_decode(model, torch.full((2, length), 4))
    with pytest.raises(ConfigError):  # <bos> takes the only position there is
        greedy_decode(build(small_config(max_seq_len=1)).eval(), torch.tensor([[2]]))


@pytest.mark.parametrize("changes", [{}, DECODER], ids=["encoder-decoder", "decoder-only"])
@pytest.mark.parametrize("row", [[0, 0, 4], [4, 0, 5]])
def test_padding_in_front_of_a_token_is_refused(changes: dict[str, Any], row: list[int]):
    """Positions would be counted from the padding on, and with a cache such keys would be taken for tokens."""
    model = build(small_config(**changes)).eval()
    with pytest.raises(TextError, match="row 1 has padding before a token"):
        greedy_decode(model, torch.tensor([[4, 5, 6], row]), max_new_tokens=2)


def test_a_first_token_that_is_also_padding_begins_a_text():
    model = build(small_config(**DECODER, bos_id=0)).eval()
    alone = greedy_decode(model, torch.tensor([[0, 4]]), max_new_tokens=2).tokens[0].tolist()
    batch = greedy_decode(model, torch.tensor([[0, 4, 0], [0, 4, 5]]), max_new_tokens=2).tokens[0].tolist()
    assert batch[: len(alone)] == alone


def test_results_and_what_a_hook_keeps_can_be_used_in_gradients():
    """Without hooks the model runs in torch's inference mode, whose tensors cannot be."""
    model, src = random_model(3), torch.tensor([[4, 5, 2]])
    with capture(model, "*") as acts:
        greedy_decode(model, src)
    kept = [acts["decoder.blocks.0.hook_resid_post"]]
    model.get_submodule("decoder.blocks.0").register_forward_hook(lambda module, given, out: kept.append(out))
    kept.append(greedy_decode(model, src).log_probs)
    for value in (kept[0], kept[-2], kept[-1]):
        probe = torch.ones(value.shape[-1], requires_grad=True)
        (value @ probe).square().sum().backward()
        assert probe.grad is not None and probe.grad.abs().sum() > 0


def test_padding_is_never_written():
    model = random_model(4, tie_embeddings="none")
    src = padded(random_sources(4, 13))
    favorite = greedy_decode(model, src, max_new_tokens=2).tokens[0, 2]
    with torch.no_grad():
        model.unembed.weight[0] = 2 * model.unembed.weight[favorite]  # <pad> is better wherever that token was best
    assert greedy_decode(model, src).tokens[0, 2] == favorite
