"""GPTModel of "Build a Large Language Model (From Scratch)": a GPT-2 with other names.

The book defines its configuration in code; here it is a config.json in the same folder, with the book's names and
"model_type": "raschka_gpt".
"""

from collections import ChainMap
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from transformer_core.checkpoints.families.nanogpt import GPT2_END
from transformer_core.checkpoints.family import Entry, Family, decoder_only, embeddings, module
from transformer_core.checkpoints.options import Options
from transformer_core.config import ModelConfig

MODEL_TYPE = "raschka_gpt"
HEAD = "out_head.weight"
_QUERY = "trf_blocks.0.att.W_query.weight"


def read(options: Options) -> ModelConfig:
    """Return our configuration of a GPTModel.

    Source: Raschka 2024, ch. 4, and the class GPTModel of github.com/rasbt/LLMs-from-scratch.
    """
    vocab_size, d_model = options.whole("vocab_size"), options.whole("emb_dim")
    end = GPT2_END if vocab_size > GPT2_END else vocab_size - 1
    dropout = options.number("drop_rate", 0.0)
    options.idle("qkv_bias")
    return decoder_only(
        vocab_size=vocab_size,
        d_model=d_model,
        d_ff=4 * d_model,
        n_heads=options.whole("n_heads"),
        n_decoder_layers=options.whole("n_layers"),
        max_seq_len=options.whole("context_length"),
        positions="learned",
        activation="gelu_tanh",
        tie_embeddings="none",
        dropout=dropout,
        dropout_pattern=dropout,
        pad_id=None,
        bos_id=end,
        eos_id=end,
    )


def sizes_of(weights: Mapping[str, Tensor]) -> dict[str, Any]:
    """Return the options that follow from the weights; {} if they are not those of a GPTModel."""
    query = next((key for key in weights if key.endswith(_QUERY)), _QUERY)
    prefix = query.removesuffix(_QUERY)
    tokens, positions = (weights.get(f"{prefix}{name}.weight") for name in ("tok_emb", "pos_emb"))
    if tokens is None or positions is None or tokens.ndim != 2:
        return {}
    return {
        "model_type": MODEL_TYPE,
        "vocab_size": tokens.shape[0],
        "context_length": positions.shape[0],
        "emb_dim": tokens.shape[1],
        "n_layers": sum(key.endswith(".att.W_query.weight") for key in weights),
        "qkv_bias": query.removesuffix("weight") + "bias" in weights,
    }


def described(weights: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """Return the weights, with biases of zero for queries, keys and values if they have none."""
    names = [key for key in weights if key.endswith((".W_query.weight", ".W_key.weight", ".W_value.weight"))]
    biases = {f"{key.removesuffix('weight')}bias": torch.zeros(weights[key].shape[0]) for key in names}
    return ChainMap(weights, biases)  # type: ignore[arg-type]  # nothing is written to it


def keys(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of a GPTModel."""
    entries = [
        *embeddings(config, "tok_emb.weight", head=HEAD),
        Entry("pos_emb.weight", ("decoder.pos_embed.table",)),
        *_norm("final_norm", "decoder.ln_final"),
    ]
    for i in range(config.n_decoder_layers):
        theirs, ours = f"trf_blocks.{i}", f"decoder.blocks.{i}"
        for their_name, our_name in (("W_query", "q"), ("W_key", "k"), ("W_value", "v"), ("out_proj", "out")):
            entries += module(f"{theirs}.att.{their_name}", f"{ours}.self_attn.{our_name}")
        entries += [
            *_norm(f"{theirs}.norm1", f"{ours}.ln1"),
            *_norm(f"{theirs}.norm2", f"{ours}.ln2"),
            *module(f"{theirs}.ff.layers.0", f"{ours}.mlp.up"),
            *module(f"{theirs}.ff.layers.2", f"{ours}.mlp.down"),
        ]
    return tuple(entries)


def _norm(theirs: str, ours: str) -> tuple[Entry, Entry]:
    return Entry(f"{theirs}.scale", (f"{ours}.weight",)), Entry(f"{theirs}.shift", (f"{ours}.bias",))


FAMILIES = (Family(model_type=MODEL_TYPE, read=read, keys=keys, head=HEAD),)
