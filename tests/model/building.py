"""Small models and batches for tests: odd sizes, every parameter random, padding where a test wants it."""

from collections.abc import Sequence
from typing import Any, TypeVar

import pytest
import torch
from torch import Tensor, nn

import transformer_core as tc
from transformer_core.model.stack import Stack

PAD = 0

Module = TypeVar("Module", bound=nn.Module)

DECODER: dict[str, Any] = {"architecture": "decoder_only", "n_encoder_layers": 0, "tie_embeddings": "target"}
ENCODER: dict[str, Any] = {"architecture": "encoder_only", "n_decoder_layers": 0, "tie_embeddings": "target"}

_ROOT_MEAN_SQUARE = {"norm": "rms", "norm_position": "pre", "scale_embeddings": False}
_BUCKETS = {"positions": "relative_buckets", "n_relative_buckets": 7, "relative_max_distance": 9}
_LLAMA3 = {"rotary_scaling": "llama3", "rotary_scaling_factor": 8.0, "rotary_original_len": 12, "rotary_base": 500.0}
VARIATIONS: dict[str, dict[str, Any]] = {
    "the paper's": {},
    "pre-norm, no biases of norms": {"norm_position": "pre", "norm": "layer_without_bias"},
    "buckets": _BUCKETS
    | _ROOT_MEAN_SQUARE
    | {"scale_scores": False, "scale_logits": True, "d_head": 10, "output_norm": True},
    "alibi": {"positions": "alibi", "attention_bias": "none", "feed_forward_bias": False},
    "rotary, groups": {"positions": "rotary_interleaved", "n_heads": 4, "n_kv_heads": 2, "attention_bias": "qkv"},
    "window": {"positions": "learned", "sliding_window": 3, "gated": True, "activation": "gelu_tanh"},
    "attention only": {"d_ff": 0, "norm_position": "pre"},
    "decoder": DECODER | {"positions": "learned", "norm_position": "pre", "activation": "gelu_tanh"},
    "decoder, rotary": DECODER
    | _ROOT_MEAN_SQUARE
    | {"positions": "rotary_halves", "gated": True, "activation": "silu", "n_kv_heads": 1, "feed_forward_bias": False},
    "decoder, q/k norm": DECODER
    | _ROOT_MEAN_SQUARE
    | _LLAMA3
    | {"positions": "rotary_halves", "rotary_fraction": 0.6, "d_head": 10, "qk_norm": True, "attention_bias": "none"}
    | {"qk_norm_scope": "per_head"},
    "decoder, alibi, window": DECODER
    | {"positions": "alibi", "alibi_scale": 0.5, "alibi_rounding": True, "sliding_window": 3, "n_kv_heads": 1},
    "decoder, buckets": DECODER | _BUCKETS | {"embedding_norm": True, "unembed_bias": True},
    "decoder, attention only": DECODER | {"d_ff": 0, "positions": "none", "tie_embeddings": "none"},
    "final norm, two vocabularies": {"final_norm": True, "src_vocab_size": 41, "tie_embeddings": "target"},
    "no norm": {"norm": "none", "norm_position": "pre", "positions": "learned", "scale_embeddings": False},
    "decoder, no norm, attention only": DECODER
    | {"norm": "none", "norm_position": "pre", "d_ff": 0, "positions": "none", "scale_embeddings": False},
    "decoder, output norms": DECODER
    | _ROOT_MEAN_SQUARE
    | {"positions": "rotary_halves", "input_norm": False, "output_norm": True, "n_kv_heads": 1}
    | {"qk_norm": True, "qk_norm_scope": "joint", "score_cap": 3.0},
    "decoder, no final norm": DECODER
    | _ROOT_MEAN_SQUARE
    | {"positions": "learned", "embedding_norm": True, "last_norm": False, "activation": "squared_relu"}
    | {"logit_cap": 2.0},
    "decoder, parallel": DECODER
    | {"norm_position": "pre", "parallel_residual": True, "positions": "rotary_halves", "rotary_fraction": 0.5}
    | {"layers_without_rotation": (1,)},
    "encoder": ENCODER
    | {"positions": "learned", "activation": "gelu", "n_segments": 3, "embedding_norm": True}
    | {"unembed_transform": True, "unembed_bias": True, "scale_embeddings": False},
    "encoder, narrow embeddings, buckets too": ENCODER
    | {"positions": "learned", "relative_bias": True, "n_relative_buckets": 7, "relative_max_distance": 9}
    | {"d_embed": 10, "embedding_norm": True, "unembed_transform": True, "scale_embeddings": False},
    "encoder, buckets, groups": ENCODER | _BUCKETS | _ROOT_MEAN_SQUARE | {"n_kv_heads": 1, "qk_norm": True},
    "encoder, rotary, window": ENCODER | {"positions": "rotary_halves", "sliding_window": 4, "tie_embeddings": "none"},
    "encoder, windows and none": ENCODER
    | {"positions": "rotary_halves", "rotary_base_in_window": 50.0, "sliding_window": 3, "layers_without_window": (0,)}
    | {
        "norm_position": "pre",
        "norm": "layer_without_bias",
        "first_norm": False,
        "embedding_norm": True,
        "gated": True,
    },
}
"""What a configuration can choose, each of it at least once, in all three architectures."""

each_variation = pytest.mark.parametrize("variation", VARIATIONS)


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
    model = shaken(tc.build(config, seed=seed), seed=seed + 1)
    if config.norm == "none":  # then nothing else keeps numbers small
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(0.5)
    return model


def varied_model(variation: str, **changes: Any) -> tc.Transformer:
    """A model of `VARIATIONS`, with every parameter random, in evaluation mode."""
    return shaken_model(odd_config(**VARIATIONS[variation] | changes))


def both_stacks(model: tc.Transformer) -> tuple[Stack, Stack]:
    """Encoder and decoder of a model that has both."""
    assert model.encoder is not None and model.decoder is not None
    return model.encoder, model.decoder


def random_tokens(lengths: Sequence[int], *, vocab_size: int, n_positions: int | None = None, seed: int = 0) -> Tensor:
    """Int64 tokens [batch, pos], one row a length, padded on the right; no real token is the padding's."""
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.full((len(lengths), n_positions or max(lengths)), PAD)
    for row, n_tokens in zip(tokens, lengths, strict=True):
        row[:n_tokens] = torch.randint(1, vocab_size, (n_tokens,), generator=generator)
    return tokens


def random_inputs(
    model: tc.Transformer, lengths: Sequence[int] = (7, 4, 2), tgt_lengths: Sequence[int] = (3, 9, 5)
) -> tuple[Tensor, ...]:
    """What a model takes: source and target, or one text."""
    vocab_size = model.config.vocab_size
    tokens = random_tokens(lengths, vocab_size=model.config.input_vocab_size)
    if model.config.architecture != "encoder_decoder":
        return (tokens,)
    return tokens, random_tokens(tgt_lengths, vocab_size=vocab_size, seed=1)
