"""Models under any masks, in plain Python: the oracle of the mask laboratory, on top of the formulas by hand."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

import transformer_core as tc
from tests.model import by_hand
from tests.model.by_hand import Array, Weights

Masks = Mapping[tuple[str, int], np.ndarray]
"""By attention and layer: [query, key], True = may attend."""


def usual(model: tc.Transformer, inputs: Mapping[str, Sequence[int]]) -> dict[tuple[str, int], np.ndarray]:
    """The masks that the paper puts everywhere."""
    pad_id, config = model.config.pad_id, model.config
    real = {side: np.array([token != pad_id for token in tokens]) for side, tokens in inputs.items()}
    masks = {}
    for layer in range(config.n_encoder_layers):
        n = len(inputs["source"])
        masks["encoder", layer] = np.array([[real["source"][key] for key in range(n)] for _ in range(n)])
    for layer in range(config.n_decoder_layers):
        n = len(inputs["target"])
        masks["decoder", layer] = np.array(
            [[key <= query and real["target"][key] for key in range(n)] for query in range(n)]
        )
        if config.has_encoder:
            masks["cross", layer] = np.array([real["source"] for _ in range(n)])
    return masks


def run(model: tc.Transformer, inputs: Mapping[str, Sequence[int]], masks: Masks) -> tuple[Array, dict[Any, Array]]:
    """The logits [pos, vocab] of a post-norm model, and every pattern [query, key] by attention, layer and head."""
    patterns: dict[Any, Array] = {}
    memory = _stack(model, "encoder", inputs["source"], masks, patterns) if "source" in inputs else None
    final = memory
    if "target" in inputs:
        final = _stack(model, "decoder", inputs["target"], masks, patterns, memory)
    assert final is not None
    return Weights.of(model).linear("unembed", final)[0], patterns


def _stack(
    model: tc.Transformer,
    name: str,
    tokens: Sequence[int],
    masks: Masks,
    patterns: dict[Any, Array],
    memory: Array | None = None,
) -> Array:
    config, weights = model.config, Weights.of(model).inside(name)
    x = by_hand.embedding(weights, np.array([tokens]), config.d_model)
    for layer in range(config.n_encoder_layers if name == "encoder" else config.n_decoder_layers):
        block = weights.inside(f"blocks.{layer}")
        attentions = [("self_attn", "ln1", name)] + (
            [("cross_attn", "ln_cross", "cross")] if memory is not None else []
        )
        for part, norm, attention in attentions:
            keys = x if part == "self_attn" else memory
            assert keys is not None
            mask = masks[attention, layer]
            allowed = by_hand.where(torch.from_numpy(mask[None]))
            patterns |= {
                (attention, layer, head): pattern
                for head, pattern in enumerate(_patterns(block.inside(part), x, keys, config.n_heads, allowed))
            }
            out = by_hand.multi_head_attention(block.inside(part), x, keys, config.n_heads, allowed)
            x = by_hand.layer_norm(block.inside(norm), x + out, config.layer_norm_eps)
        out = by_hand.feed_forward(block.inside("mlp"), x)
        x = by_hand.layer_norm(block.inside("ln2"), x + out, config.layer_norm_eps)
    return x


def _patterns(weights: Weights, queries: Array, keys: Array, n_heads: int, allowed: by_hand.Allowed) -> list[Array]:
    q, k = weights.linear("q", queries), weights.linear("k", keys)
    d_head = q.shape[-1] // n_heads
    heads = [slice(head * d_head, (head + 1) * d_head) for head in range(n_heads)]
    return [by_hand.attention(q[..., head], k[..., head], k[..., head], allowed)[0][0] for head in heads]


def softmax(logits: Array) -> Array:
    """Over the last axis."""
    shares = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return shares / shares.sum(axis=-1, keepdims=True)
