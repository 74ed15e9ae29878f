"""nanoGPT and minGPT: a GPT-2 in a file with weights and "model_args", or with minGPT's config.json."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from transformer_core.checkpoints.family import Entry, Family, decoder_only, embeddings, fused, module
from transformer_core.checkpoints.options import ACTIVATIONS, Options
from transformer_core.config import ModelConfig
from transformer_core.errors import NO_MESSAGE, Message

MODEL_TYPE, ARGUMENTS = "nanogpt", "model_args"
HEAD = "lm_head.weight"
HEADS_OF_MINGPT = {
    **{"openai-gpt": 12, "gpt2": 12, "gpt2-medium": 16, "gpt2-large": 20, "gpt2-xl": 25, "gopher-44m": 16},
    **{"gpt-mini": 6, "gpt-micro": 4, "gpt-nano": 3},
}
GPT2_END = 50256  # <|endoftext|>; nanoGPT rounds the vocabulary up to 50304


def read(options: Options) -> ModelConfig:
    """Return our configuration of a nanoGPT.

    It has no end-of-sequence token, except that of GPT-2's vocabulary.

    Source: the class GPT of github.com/karpathy/nanoGPT. It used the tanh approximation of GELU until 2023-05-17; files
    from before 2023-01-27 can be recognized by the missing "bias", later ones cannot.
    """
    vocab_size, d_model, bias = options.whole("vocab_size"), options.whole("n_embd"), options.switch("bias", True)
    end = GPT2_END if vocab_size > GPT2_END else None
    dropout = options.number("dropout", 0.0)
    return decoder_only(
        vocab_size=vocab_size,
        d_model=d_model,
        d_ff=4 * d_model,
        n_heads=options.whole("n_head"),
        n_decoder_layers=options.whole("n_layer"),
        max_seq_len=options.whole("block_size"),
        positions="learned",
        norm="layer" if bias else "layer_without_bias",
        activation=options.choice("activation", ACTIVATIONS, "gelu" if "bias" in options else "gelu_new"),
        feed_forward_bias=bias,
        attention_bias="all" if bias else "none",
        tie_embeddings="target",
        dropout=dropout,
        dropout_pattern=dropout,
        pad_id=None,
        bos_id=end,
        eos_id=end,
    )


def described(arguments: object, config: Mapping[str, Any], weights: Mapping[str, Tensor]) -> dict[str, Any]:
    """Return the options of a nanoGPT or a minGPT; {} if it is neither.

    Args:
        arguments: "model_args" in the file of weights.
        config: the object in a config.json in the same folder, which takes precedence, or is minGPT's.
        weights: the weights, which determine minGPT's sizes.
    """
    if isinstance(arguments, dict):
        return {**arguments, **config, "model_type": MODEL_TYPE}
    of_mingpt, sizes = config.get("model"), sizes_of(weights)
    if not isinstance(of_mingpt, dict) or not sizes:
        return {}
    n_head = of_mingpt.get("n_head") or HEADS_OF_MINGPT.get(str(of_mingpt.get("model_type")))
    return {**sizes, "n_head": n_head, "activation": "gelu_new"}


def sizes_of(weights: Mapping[str, Tensor]) -> dict[str, Any]:
    """Return the options of a nanoGPT that follow from its weights; {} if they are not a nanoGPT's."""
    key = next((key for key in weights if key.endswith("h.0.attn.c_attn.weight")), "h.0.attn.c_attn.weight")
    prefix = key.removesuffix("h.0.attn.c_attn.weight")
    names = (key, f"{prefix}wte.weight", f"{prefix}wpe.weight")
    attention, tokens, positions = (weights[name].shape if name in weights else () for name in names)
    if not len(attention) == len(tokens) == len(positions) == 2 or attention[0] != 3 * attention[1]:
        return {}
    head = weights.get(prefix.removesuffix("transformer.") + HEAD)
    is_untied = head is not None and not torch.equal(head, weights[names[1]])  # as before 2023-01-14
    n_layers = sum(name.startswith(f"{prefix}h.") and name.endswith(".attn.c_attn.weight") for name in weights)
    sizes = {"n_layer": n_layers, "n_embd": attention[1], "block_size": positions[0], "vocab_size": tokens[0]}
    about = {"bias": f"{prefix}h.0.attn.c_attn.bias" in weights} | ({"activation": "gelu_new"} if is_untied else {})
    return {"model_type": MODEL_TYPE, **sizes, **about}


def note_on(options: Mapping[str, Any]) -> Message:
    """Return the note on the activation of a nanoGPT, which its files do not record."""
    if "activation" in options:
        return NO_MESSAGE
    if "bias" not in options:
        return Message(
            "Read with the tanh approximation of GELU, which nanoGPT used when its files did not record bias yet."
        )
    return Message(
        "Read with the exact GELU. nanoGPT used the tanh approximation until 2023-05-17, and its files do not record "
        "which; for an older model, put {config} into a config.json next to it.",
        config='{"activation": "gelu_new"}',
    )


def keys(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of a nanoGPT."""
    parts = ("weight", "bias") if config.feed_forward_bias else ("weight",)
    entries = [
        *embeddings(config, "transformer.wte.weight", head=HEAD),
        Entry("transformer.wpe.weight", ("decoder.pos_embed.table",)),
        *module("transformer.ln_f", "decoder.ln_final", parts),
    ]
    for i in range(config.n_decoder_layers):
        theirs, ours = f"transformer.h.{i}", f"decoder.blocks.{i}"
        entries += [
            *module(f"{theirs}.ln_1", f"{ours}.ln1", parts),
            *fused(f"{theirs}.attn.c_attn", f"{ours}.self_attn", parts=parts),
            *module(f"{theirs}.attn.c_proj", f"{ours}.self_attn.out", parts),
            *module(f"{theirs}.ln_2", f"{ours}.ln2", parts),
            *module(f"{theirs}.mlp.c_fc", f"{ours}.mlp.up", parts),
            *module(f"{theirs}.mlp.c_proj", f"{ours}.mlp.down", parts),
        ]
    return tuple(entries)


FAMILIES = (Family(model_type=MODEL_TYPE, read=read, keys=keys, head=HEAD, prefix="transformer."),)
