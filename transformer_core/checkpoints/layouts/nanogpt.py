"""nanoGPT, build-nanogpt, minGPT and llm.c: a GPT-2 whose linear layers are stored as [out, in]; and GPT-2 itself."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from transformer_core.checkpoints.describing import (
    DECODER_ONLY,
    dropouts,
    having,
    heads_question,
    n_layers,
    usual_heads,
)
from transformer_core.checkpoints.entries import Entry, embeddings, fused, in_layers, module, modules, parts
from transformer_core.checkpoints.families import gpt2
from transformer_core.checkpoints.layout import Convention, Description, Layout, SavedModel
from transformer_core.checkpoints.pickles import Settings
from transformer_core.checkpoints.wrappers import Renamed
from transformer_core.config import ModelConfig
from transformer_core.errors import Message

HEAD = "lm_head.weight"
GPT2_END = 50256  # <|endoftext|>; nanoGPT rounds the vocabulary up to 50304
GPT2_HEADS = {768: 12, 1024: 16, 1280: 20, 1600: 25}  # by width
_MINGPT_HEADS = {
    **{"openai-gpt": 12, "gpt2": 12, "gpt2-medium": 16, "gpt2-large": 20, "gpt2-xl": 25, "gopher-44m": 16},
    **{"gpt-mini": 6, "gpt-micro": 4, "gpt-nano": 3},
}
_USUAL_HEADS = {(512, 8): 16, (384, 6): 6, (192, 6): 6, (128, 4): 4, (48, 3): 3}  # by width and layers: minGPT's types
_NAMES = {"n_layer": "n_decoder_layers", "n_head": "n_heads", "n_embd": "d_model", "block_size": "max_seq_len"}
_FIRST, _TOKENS, _POSITIONS = (f"transformer.{name}.weight" for name in ("h.0.attn.c_attn", "wte", "wpe"))
_recognize = having(_FIRST, _TOKENS, _POSITIONS)
_GPT2 = (_FIRST, _TOKENS, _POSITIONS, "transformer.ln_f.weight")
_recognize_gpt2, _recognize_bare = having(*_GPT2), having(*(key.removeprefix("transformer.") for key in _GPT2))


def recognize(saved: SavedModel) -> Mapping[str, Tensor] | None:
    """Return the tensors of a nanoGPT or a minGPT; those of a GPT-2 of the `transformers` library are transposed."""
    weights = _recognize(saved)
    shape = weights[_FIRST].shape if weights else ()
    return weights if len(shape) == 2 and shape[0] == 3 * shape[1] else None


def recognize_gpt2(saved: SavedModel) -> Mapping[str, Tensor] | None:
    """Return the tensors of a GPT-2 of the `transformers` library by the keys of a nanoGPT."""
    weights = _recognize_gpt2(saved)
    if weights is None and (bare := _recognize_bare(saved)):
        weights = Renamed(bare, {key if key == HEAD else f"transformer.{key}": key for key in bare})
    shape = weights[_FIRST].shape if weights else ()
    return weights if len(shape) == 2 and shape[1] == 3 * shape[0] else None


def describe_gpt2(saved: SavedModel, given: Mapping[str, Any]) -> Description:
    """Return the description of a GPT-2 of the `transformers` library without its config.json."""
    description = describe(saved, given)
    others = [convention for convention in description.conventions if convention.option != "activation"]
    d_ff = saved.weights["transformer.h.0.mlp.c_fc.weight"].shape[1]
    fields = {**description.fields, "d_ff": d_ff, "activation": "gelu_tanh"}
    return replace(description, fields=fields, conventions=others)


def settings(saved: SavedModel) -> Mapping[str, Any]:
    """Return nanoGPT's "model_args", or the model in minGPT's config.json; other values there take precedence."""
    of_mingpt = saved.config.get("model")
    if isinstance(of_mingpt, dict):
        named = {"n_head": _MINGPT_HEADS.get(str(of_mingpt.get("model_type")))}
        return named | {name: of_mingpt[name] for name in _NAMES if of_mingpt.get(name) is not None}
    return {**_arguments(saved), **saved.config}


def _arguments(saved: SavedModel) -> Mapping[str, Any]:
    """Return nanoGPT's "model_args", or the GPTConfig that build-nanogpt saves; {} without either."""
    arguments, config = saved.other.get("model_args"), saved.other.get("config")
    return arguments if isinstance(arguments, dict) else config if isinstance(config, Settings) else {}


def describe(saved: SavedModel, given: Mapping[str, Any]) -> Description:
    """Return the description of a nanoGPT or a minGPT.

    It has no end-of-sequence token, except that of GPT-2's vocabulary.

    Source: the classes GPT of github.com/karpathy/nanoGPT and minGPT, and the history of the former.
    """
    weights = saved.weights
    (vocab_size, d_model), has_bias = weights[_TOKENS].shape, "transformer.ln_f.bias" in weights
    end = GPT2_END if vocab_size > GPT2_END else None
    conventions, questions = [_activation(saved, has_bias)], []
    n_blocks = n_layers(weights, "transformer.h.", ".attn.c_attn.weight")
    if n_heads := GPT2_HEADS.get(d_model, _USUAL_HEADS.get((d_model, n_blocks))):
        conventions.append(usual_heads(d_model, n_heads, "nanoGPT and minGPT"))
    else:
        questions.append(heads_question(d_model))
    fields = {
        **DECODER_ONLY,
        "vocab_size": vocab_size,
        "d_model": d_model,
        "d_ff": weights["transformer.h.0.mlp.c_fc.weight"].shape[0],
        "n_decoder_layers": n_blocks,
        "max_seq_len": weights[_POSITIONS].shape[0],
        "positions": "learned",
        "norm": "layer" if has_bias else "layer_without_bias",
        "feed_forward_bias": has_bias,
        "attention_bias": "all" if has_bias else "none",
        "tie_embeddings": "none" if _is_untied(weights) else "target",
        **dropouts(given),
        "bos_id": end,
        "eos_id": end,
    }
    return Description(fields=fields, conventions=conventions, questions=questions)


def _is_untied(weights: Mapping[str, Tensor]) -> bool:
    """Return whether the output layer is not the embedding, as in minGPT, and in nanoGPT until 2023-01-14."""
    return HEAD in weights and not torch.equal(weights[HEAD], weights[_TOKENS])


def _activation(saved: SavedModel, has_bias: bool) -> Convention:
    """Return the activation: the tanh approximation of GELU, except in nanoGPT since 2023-05-17."""
    arguments = _arguments(saved)
    if _is_untied(saved.weights) or isinstance(arguments, Settings):
        program = "build-nanogpt" if isinstance(arguments, Settings) else "minGPT"
        note = Message("Read with the tanh approximation of GELU, as in {program}.", program=program)
        return Convention("activation", "gelu_tanh", note, ("gelu",))
    if (arguments and "bias" not in arguments) or _embeddings_are_not_decayed(saved):
        note = Message("Read with the tanh approximation of GELU, which nanoGPT used when this file was written.")
        return Convention("activation", "gelu_tanh", note, ("gelu",))
    note = Message(
        "Read with the exact GELU, which nanoGPT has used since 2023-05-17; for an older model, choose activation "
        "gelu_tanh."
    )
    return Convention("activation", "gelu", note, ("gelu_tanh",))


def _embeddings_are_not_decayed(saved: SavedModel) -> bool:
    """Return whether the optimizer has a group without the embeddings, as in nanoGPT until 2023-05-06."""
    try:
        n_decayed = len(saved.other["optimizer"]["param_groups"][0]["params"])
    except (IndexError, KeyError, TypeError):
        return False
    linear = [key for key in saved.weights if ".attn.c_" in key or ".mlp.c_" in key]
    return n_decayed == sum(key.endswith(".weight") for key in linear)


def keys(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of a nanoGPT."""
    both = parts(config.feed_forward_bias)
    linear = {"attn.c_proj": "self_attn.out", "mlp.c_fc": "mlp.up", "mlp.c_proj": "mlp.down"}
    layer = (
        *modules({"ln_1": "ln1", "ln_2": "ln2", **linear}, both),
        *fused("attn.c_attn", "self_attn", parts=both),
    )
    return (
        *embeddings(config, _TOKENS, head=HEAD),
        Entry(_POSITIONS, ("decoder.pos_embed.table",)),
        *module("transformer.ln_f", "decoder.ln_final", both),
        *in_layers(config, "transformer.h.*", layer),
    )


LAYOUTS = (
    Layout(
        name="nanoGPT/minGPT",
        model_type="nanogpt",
        recognize=recognize,
        describe=describe,
        keys=keys,
        head=HEAD,
        names={**_NAMES, "bias": ""},
        settings=settings,
    ),
    Layout(
        name="GPT-2",
        model_type="gpt2_state_dict",
        recognize=recognize_gpt2,
        describe=describe_gpt2,
        keys=gpt2.keys,
        head=HEAD,
        names=_NAMES,
    ),
)
