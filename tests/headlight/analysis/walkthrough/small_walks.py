"""Walks through small random models of every kind, each made once."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

import transformer_core as tc
from headlight.analysis.trace.attentions import attentions_of
from headlight.analysis.walkthrough.walkthrough import Walkthrough, walk
from tests.model.building import DECODER, ENCODER, VARIATIONS, odd_config, shaken_model

KINDS: Mapping[str, dict[str, Any]] = VARIATIONS | {
    "not scaled": {"scale_scores": False, "n_kv_heads": 1, "norm_position": "pre", "layer_norm_eps": 0.1},
    "q/k norm with bias": {
        "qk_norm": True,
        "qk_norm_scope": "per_head",
        "gated": True,
        "activation": "silu",
        "d_head": 6,
    },
    "no final norm": VARIATIONS["buckets"] | {"last_norm": False},
    "attention only, post-norm": {"d_ff": 0, "embedding_norm": True},
    "decoder that starts with padding": DECODER | {"bos_id": 0, "positions": "rotary_interleaved", "qk_norm": True},
    "encoder, gelu": ENCODER
    | {"activation": "gelu", "norm_position": "pre", "attention_bias": "qkv", "score_cap": 4.0},
}
INPUTS = ((5, 9, 3, 17, 9, 0), (7, 9, 3))  # padding at the end, a token twice


@cache
def model_of(kind: str) -> tc.Transformer:
    return shaken_model(odd_config(**KINDS[kind]))


def inputs_of(kind: str) -> tuple[tuple[int, ...], ...]:
    config = model_of(kind).config
    written = (config.bos_id or 0, *INPUTS[1])  # of one kind that is the token of the padding
    return {"encoder_decoder": (INPUTS[0], written), "decoder_only": (written,), "encoder_only": INPUTS[:1]}[
        config.architecture
    ]


@cache
def walked(kind: str, attention: str, layer: int) -> Walkthrough:
    """The walk through the last head, with dropout: with groups, its keys and values have another number."""
    return walk(model_of(kind), inputs_of(kind), attention=attention, layer=layer, head=2, dropout_seed=3)


def places() -> list[tuple[str, str, int]]:
    """Every attention of every kind, in its first layer or in its last, turn about."""
    return [
        (kind, name, (i + j) % 2 * (attention.n_layers(odd_config(**changes)) - 1))
        for i, (kind, changes) in enumerate(KINDS.items())
        for j, (name, attention) in enumerate(attentions_of(odd_config(**changes)).items())
    ]


each_place = pytest.mark.parametrize(("kind", "attention", "layer"), places())
