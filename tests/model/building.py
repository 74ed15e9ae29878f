"""Small models and batches for tests: odd sizes, every parameter random, padding where a test wants it."""

from collections.abc import Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

import transformer_core as tc

PAD = 0

Module = TypeVar("Module", bound=nn.Module)


def odd_config(**changes: Any) -> tc.ModelConfig:
    """A configuration whose sizes are all different, so that no axis can be mistaken for another."""
    values: dict[str, Any] = {
        "vocab_size": 37,
        "d_model": 48,
        "n_heads": 3,
        "d_ff": 80,
        "n_encoder_layers": 2,
        "n_decoder_layers": 2,
        "max_seq_len": 24,
    }
    return tc.ModelConfig(**(values | changes))


def small_config(**changes: Any) -> tc.ModelConfig:
    """One layer on each side, and as little of everything as has an inside."""
    values: dict[str, Any] = {
        "vocab_size": 13,
        "d_model": 6,
        "n_heads": 2,
        "d_ff": 10,
        "n_encoder_layers": 1,
        "n_decoder_layers": 1,
        "max_seq_len": 12,
    }
    return tc.ModelConfig(**(values | changes))


def shaken(module: Module, seed: int = 0) -> Module:
    """The module in evaluation mode, no bias left at 0 and no norm's weight at 1, so that each of them counts."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.1)
    return module.eval()


def shaken_model(config: tc.ModelConfig, seed: int = 0) -> tc.Transformer:
    """A built model with every parameter random, in evaluation mode."""
    return shaken(tc.build(config, seed=seed), seed=seed + 1)


def random_tokens(lengths: Sequence[int], *, vocab_size: int, n_positions: int | None = None, seed: int = 0) -> Tensor:
    """Int64 tokens [batch, pos], one row a length, padded on the right; no real token is the padding's."""
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.full((len(lengths), n_positions or max(lengths)), PAD)
    for row, n_tokens in zip(tokens, lengths, strict=True):
        row[:n_tokens] = torch.randint(1, vocab_size, (n_tokens,), generator=generator)
    return tokens
