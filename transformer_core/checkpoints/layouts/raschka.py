"""GPTModel of "Build a Large Language Model (From Scratch)": a GPT-2 with other names.

The book defines its configuration in code; as a config.json next to the weights, it takes precedence.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from transformer_core.checkpoints.describing import (
    DECODER_ONLY,
    Computed,
    dropouts,
    having,
    heads_question,
    n_layers,
    thirds,
    usual_heads,
)
from transformer_core.checkpoints.entries import Entry, embeddings, in_layers, inside, modules
from transformer_core.checkpoints.family import Ignored
from transformer_core.checkpoints.layout import Description, Layout, SavedModel
from transformer_core.checkpoints.layouts.nanogpt import GPT2_END, GPT2_HEADS
from transformer_core.checkpoints.wrappers import Renamed
from transformer_core.config import ModelConfig
from transformer_core.errors import Message

HEAD, TOKENS, POSITIONS = "out_head.weight", "tok_emb.weight", "pos_emb.weight"
ATTENTION = {"W_query": "q", "W_key": "k", "W_value": "v", "out_proj": "out"}
_PARTS = (("weight", "scale"), ("bias", "shift"))
CLASSIFIER = Ignored(
    r"out_head\.(weight|bias)",
    Message("only used for classification, not for tokens or attention"),
    lambda _, config: not config.unembed,
)
NAMES = {
    **{"context_length": "max_seq_len", "emb_dim": "d_model", "n_layers": "n_decoder_layers", "drop_rate": "dropout"},
    "qkv_bias": "",
}


_FAST = {  # parts of the keys of GPTModelFast, which uses torch's normalization, and one layer for q, k and v
    **{f"{norm}.{part}": f"{norm}.{ours}" for norm in ("norm1", "norm2", "final_norm") for part, ours in _PARTS},
    **{f"att.proj.{part}": f"att.out_proj.{part}" for part in ("weight", "bias")},
}


def recognize(saved: SavedModel) -> Mapping[str, Tensor] | None:
    """Return the tensors of a GPTModel, or of a GPTModelFast by the names of a GPTModel."""
    if fast := having("trf_blocks.0.att.qkv.weight", "trf_blocks.0.ff.layers.0.weight", TOKENS, POSITIONS)(saved):
        weights = Renamed(fast, {_in_table(key): key for key in fast})
        names = ("W_query", "W_key", "W_value")
        stacked = [key for key in weights if ".att.qkv." in key]
        return thirds(weights, {key: [key.replace("qkv", name) for name in names] for key in stacked})
    return having("trf_blocks.0.att.W_query.weight", "trf_blocks.0.ff.layers.0.weight", TOKENS, POSITIONS)(saved)


def _in_table(key: str) -> str:
    return next((key.removesuffix(fast) + name for fast, name in _FAST.items() if key.endswith(fast)), key)


def describe(saved: SavedModel, given: Mapping[str, Any]) -> Description:
    """Return the description of a GPTModel.

    Source: Raschka 2024, ch. 4, and the class GPTModel of github.com/rasbt/LLMs-from-scratch.
    """
    weights = saved.weights
    vocab_size, d_model = weights[TOKENS].shape
    end = GPT2_END if vocab_size > GPT2_END else vocab_size - 1
    output, notes = output_of(weights)
    fields = {
        **DECODER_ONLY,
        "vocab_size": vocab_size,
        "d_model": d_model,
        "d_ff": weights["trf_blocks.0.ff.layers.0.weight"].shape[0],
        "n_decoder_layers": n_layers(weights, "trf_blocks.", ".att.W_query.weight"),
        "max_seq_len": weights[POSITIONS].shape[0],
        "positions": "learned",
        "activation": "gelu_tanh",
        **output,
        **dropouts(given),
        "bos_id": end,
        "eos_id": end,
    }
    usual = GPT2_HEADS.get(d_model)
    return Description(
        fields=fields,
        conventions=[usual_heads(d_model, usual, "GPTModel")] if usual else (),
        questions=() if usual else [heads_question(d_model)],
        notes=notes,
        weights=with_biases(weights, (".W_query.weight", ".W_key.weight", ".W_value.weight")),
    )


def output_of(weights: Mapping[str, Tensor]) -> tuple[dict[str, Any], list[Message]]:
    """Return the fields of the output layer, and notes; a classifier's output layer (ch. 6) does not predict tokens."""
    if HEAD in weights and weights[HEAD].shape[0] == weights[TOKENS].shape[0]:
        return {"tie_embeddings": "target"}, []
    return {"tie_embeddings": "none", "unembed": False}, [
        Message("Its classification head is not used: {name}.", name=HEAD)
    ]


def with_biases(weights: Mapping[str, Tensor], ends: Sequence[str]) -> Mapping[str, Tensor]:
    """Return the weights, with biases of zero for linear layers without one; `ends` are the ends of their keys."""
    biases = {
        f"{key.removesuffix('weight')}bias": partial(_zeros, weights, key)
        for key in weights
        if key.endswith(tuple(ends))
    }
    return Computed(weights, {key: bias for key, bias in biases.items() if key not in weights})


def _zeros(weights: Mapping[str, Tensor], key: str) -> Tensor:
    return torch.zeros(weights[key].shape[0])


def keys(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of a GPTModel."""
    layer = (
        *inside("att", "self_attn", modules(ATTENTION)),
        *_norm("norm1", "ln1"),
        *_norm("norm2", "ln2"),
        *modules({"ff.layers.0": "mlp.up", "ff.layers.2": "mlp.down"}),
    )
    return (
        *embeddings(config, TOKENS, head=HEAD),
        Entry(POSITIONS, ("decoder.pos_embed.table",)),
        *_norm("final_norm", "decoder.ln_final"),
        *in_layers(config, "trf_blocks.*", layer),
    )


def _norm(theirs: str, ours: str) -> tuple[Entry, ...]:
    return tuple(Entry(f"{theirs}.{part}", (f"{ours}.{our_part}",)) for our_part, part in _PARTS)


LAYOUTS = (
    Layout(
        name="Raschka's GPTModel",
        model_type="raschka_gpt",
        recognize=recognize,
        describe=describe,
        keys=keys,
        head=HEAD,
        names=NAMES,
        ignored=(CLASSIFIER,),
    ),
)
