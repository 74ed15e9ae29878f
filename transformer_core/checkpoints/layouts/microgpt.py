"""microGPT: a GPT in plain Python, whose forks save its rows of numbers as JSON."""

from collections.abc import Mapping
from typing import Any

import torch

from transformer_core.checkpoints.characters import characters_in
from transformer_core.checkpoints.describing import (
    DECODER_ONLY,
    Computed,
    having,
    heads_question,
    n_layers,
    usual,
)
from transformer_core.checkpoints.entries import WEIGHT, Entry, embeddings, in_layers, shared
from transformer_core.checkpoints.layout import Convention, Description, Layout, Question, SavedModel
from transformer_core.config import ModelConfig
from transformer_core.errors import Message

N_HEADS = 4
_ONES = "gain of 1"
_LINEAR = {
    **{"attn_wq": "self_attn.q", "attn_wk": "self_attn.k", "attn_wv": "self_attn.v", "attn_wo": "self_attn.out"},
    **{"mlp_fc1": "mlp.up", "mlp_fc2": "mlp.down"},
}


_NAMES = {"n_layer": "n_decoder_layers", "n_head": "n_heads", "n_embd": "d_model", "block_size": "max_seq_len"}


def settings(saved: SavedModel) -> Mapping[str, Any]:
    """Return the options that a fork saves as "config", or next to its matrices, and those in config.json."""
    config = saved.other.get("config")
    options = {**saved.other, **(config if isinstance(config, dict) else {})}
    return {name: options[name] for name in _NAMES if name in options} | dict(saved.config)


def describe(saved: SavedModel, given: Mapping[str, Any]) -> Description:
    """Return the description of a microGPT.

    Source: microgpt.py by Andrej Karpathy (2026-02-12): RMS normalization without a gain, also of the embeddings, but
    not before the output layer.
    """
    weights = saved.weights
    vocab_size, d_model = weights["wte"].shape
    tokenizer = characters_in(saved.other, vocab_size)
    conventions: list[Convention] = []
    questions = [
        Question(
            "activation",
            ("relu", "squared_relu"),
            Message("microGPT uses ReLU; its first version, of 2026-02-11, squares it."),
        )
    ]
    if d_model % N_HEADS == 0:
        conventions.append(usual("n_heads", N_HEADS, "microGPT"))
    else:
        questions.append(heads_question(d_model, usual=4))
    if tokenizer is None:
        conventions.append(usual("bos_id", vocab_size - 1, "microGPT"))
    bos = given.get("bos_id", vocab_size - 1) if tokenizer is None else tokenizer.bos_id
    fields = {
        **DECODER_ONLY,
        "vocab_size": vocab_size,
        "d_model": d_model,
        "d_ff": weights["layer0.mlp_fc1"].shape[0],
        "n_decoder_layers": n_layers(weights, "layer", ".attn_wq"),
        "max_seq_len": weights["wpe"].shape[0],
        "positions": "learned",
        "norm": "rms",
        "embedding_norm": True,
        "last_norm": False,
        "feed_forward_bias": False,
        "attention_bias": "none",
        "tie_embeddings": "none",
        "bos_id": bos,
        "eos_id": bos,
    }
    return Description(
        fields=fields,
        conventions=conventions,
        questions=questions,
        weights=Computed(weights, {f"{_ONES}.weight": lambda: torch.ones(d_model)}),
        tokenizer=tokenizer,
    )


def keys(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of a microGPT."""
    blocks = [f"decoder.blocks.{i}" for i in range(config.n_decoder_layers)]
    norms = [f"{block}.{norm}" for block in blocks for norm in ("ln1", "ln2")]
    return (
        *embeddings(config, "wte", head="lm_head"),
        Entry("wpe", ("decoder.pos_embed.table",)),
        *shared(_ONES, ["decoder.embedding_norm", *norms], WEIGHT),
        *in_layers(config, "layer*", [Entry(theirs, (f"{ours}.weight",)) for theirs, ours in _LINEAR.items()]),
    )


LAYOUTS = (
    Layout(
        name="microGPT",
        model_type="microgpt",
        recognize=having("layer0.attn_wq", "wte", "wpe", "lm_head"),
        describe=describe,
        keys=keys,
        head="lm_head",
        names=_NAMES,
        settings=settings,
    ),
)
