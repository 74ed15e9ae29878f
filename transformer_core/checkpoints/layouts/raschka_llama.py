"""Llama 2 and 3, Qwen3, Gemma 3 and OLMo 3 of Raschka's repository, distinguished by their normalizations."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from transformer_core.checkpoints.describing import (
    DECODER_ONLY,
    Computed,
    changed,
    having,
    heads_question,
    n_layers,
    usual,
)
from transformer_core.checkpoints.entries import WEIGHT, Entry, embeddings, in_layers, inside, module, modules
from transformer_core.checkpoints.family import FULL
from transformer_core.checkpoints.layout import Description, Layout, Question, SavedModel
from transformer_core.checkpoints.layouts.raschka import ATTENTION, CLASSIFIER, HEAD, TOKENS, output_of
from transformer_core.checkpoints.options import Options
from transformer_core.checkpoints.rotary_tables import rotary_of_table
from transformer_core.checkpoints.wrappers import Renamed
from transformer_core.config import ModelConfig
from transformer_core.errors import Message

_NAMES = {
    **{"context_length": "max_seq_len", "emb_dim": "d_model", "n_layers": "n_decoder_layers", "hidden_dim": "d_ff"},
    **{"head_dim": "d_head", "n_kv_groups": "n_kv_heads", "rope_base": "rotary_base", "drop_rate": ""},
    **{"rope_local_base": "rotary_base_in_window", "rms_norm_eps": "layer_norm_eps", "qk_norm": "", "dtype": ""},
    **dict.fromkeys(("attention_dropout", "rope_freq", "layer_types", "query_pre_attn_scalar"), ""),
}
_VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "Llama": {"layer_norm_eps": 1e-5, "activation": "silu"},
    "Qwen3": {"layer_norm_eps": 1e-6, "activation": "silu", "qk_norm": True},
    "Gemma 3": {
        **{"layer_norm_eps": 1e-6, "activation": "gelu_tanh", "qk_norm": True, "output_norm": True},
        "scale_embeddings": True,
    },
    "OLMo 3": {
        **{"layer_norm_eps": 1e-6, "activation": "silu", "qk_norm": True, "qk_norm_scope": "joint"},
        **{"output_norm": True, "input_norm": False, "rotary_scaling": "yarn", "rotary_scaling_factor": 8.0},
        **{"rotary_low_freq_factor": 1.0, "rotary_high_freq_factor": 32.0, "rotary_original_len": 8192},
    },
}
_USUAL: Mapping[str, Mapping[str, Any]] = {  # in the published models
    "Llama": {"max_seq_len": 8192},
    "Qwen3": {"rotary_base": 1000000.0, "max_seq_len": 40960},
    "Gemma 3": {"rotary_base": 1000000.0, "sliding_window": 512, "max_seq_len": 32768},
    "OLMo 3": {"rotary_base": 500000.0, "d_head": 128, "max_seq_len": 4096},  # within its window
}
_LLAMA3 = {"rotary_low_freq_factor": 1.0, "rotary_high_freq_factor": 4.0, "rotary_original_len": 8192}
_LLAMA3_TOKENS, _LLAMA32_HEADS = 128256, {2048: 32, 3072: 24}  # of 1 and 3 billion parameters
_EVERY = 6  # Gemma 3: each sixth layer has no window
_BLOCK = "trf_blocks.0"
_INPUT_NORMS = {"norm1": "ln1", "norm2": "ln2"}
_OUTPUT_NORMS = {"post_attention_layernorm": "self_attn.out_norm", "post_feedforward_layernorm": "mlp.out_norm"}
_RENAMED = {".scale": ".weight", ".input_layernorm.": ".norm1.", ".pre_feedforward_layernorm.": ".norm2."}


def recognize(saved: SavedModel) -> Mapping[str, Tensor] | None:
    """Return the tensors of one of these models, whose feed-forward layers are fc1, fc2 and fc3."""
    for blocks in ("trf_blocks", "blocks"):
        weights = having(f"{blocks}.0.ff.fc1.weight", f"{blocks}.0.att.W_query.weight", TOKENS, HEAD)(saved)
        if weights:
            return Renamed(weights, {_in_table(key, blocks): key for key in weights})
    return None


def _in_table(key: str, blocks: str) -> str:
    for theirs, ours in {f"{blocks}.": "trf_blocks.", **_RENAMED}.items():
        key = key.replace(theirs, ours)
    return key


def settings(saved: SavedModel) -> Mapping[str, Any]:
    """Return the options of the book in config.json, with RoPE scaling and windows by our names."""
    options = Options(saved.config, where=str(saved.folder / "config.json"))
    fields: dict[str, Any] = {}
    if "rope_freq" in options:
        scaling = options.inside("rope_freq")
        fields = {"rotary_scaling": "llama3", "rotary_scaling_factor": scaling.number("factor")}
        fields |= {f"rotary_{name}": scaling.number(name) for name in ("low_freq_factor", "high_freq_factor")}
        fields["rotary_original_len"] = scaling.whole("original_context_length")
    layers = options.value("layer_types")
    if isinstance(layers, list) and "sliding_window" in options:
        fields["layers_without_window"] = tuple(i for i, kind in enumerate(layers) if kind == FULL)
    if options.value("query_pre_attn_scalar") != options.value("head_dim"):
        options.must_be("query_pre_attn_scalar", None, Message("only the width of a head is supported"))
    return {**saved.config, **fields}


def describe(saved: SavedModel, given: Mapping[str, Any]) -> Description:
    """Return the description of a model.

    Source: llama3.py, qwen3.py and the notebooks of ch. 5 in github.com/rasbt/LLMs-from-scratch.
    """
    weights, variant = saved.weights, _variant(saved.weights)
    (vocab_size, d_model), width = weights[TOKENS].shape, weights[f"{_BLOCK}.att.W_query.weight"].shape[0]
    n_blocks = n_layers(weights, "trf_blocks.", ".att.W_query.weight")
    output, notes = output_of(weights)
    fields = {
        **DECODER_ONLY,
        **_VARIANTS[variant],
        **output,
        "vocab_size": vocab_size,
        "d_model": d_model,
        "d_ff": weights[f"{_BLOCK}.ff.fc1.weight"].shape[0],
        "n_decoder_layers": n_blocks,
        "positions": "rotary_halves",
        "norm": "rms",
        "gated": True,
        "feed_forward_bias": False,
        "attention_bias": "none",
    }
    of_variant = dict(_USUAL[variant])
    questions: list[Question] = []
    if f"{_BLOCK}.att.cos" in weights:  # Llama 2
        sin, cos = weights[f"{_BLOCK}.att.sin"], weights[f"{_BLOCK}.att.cos"]
        fields |= {**rotary_of_table(sin, cos, cos.shape[-1]), "d_head": cos.shape[-1], "max_seq_len": cos.shape[0]}
        of_variant = {}
    elif variant == "Llama":
        of_llama3, questions = _llama(vocab_size, d_model, width, given)
        of_variant |= of_llama3
        if given.get("rotary_scaling", of_variant.get("rotary_scaling")) == "llama3":
            fields |= {"rotary_scaling_factor": 32.0, **_LLAMA3}
    if variant in ("Qwen3", "Gemma 3"):
        fields["d_head"] = weights[f"{_BLOCK}.att.q_norm.weight"].shape[0]
    if variant == "Gemma 3":
        fields["layers_without_window"] = tuple(range(_EVERY - 1, n_blocks, _EVERY))
    known = {**of_variant, **fields, **given}
    if d_head := known.get("d_head") or width // known.get("n_heads", 1):
        n_keys = weights[f"{_BLOCK}.att.W_key.weight"].shape[0]
        fields |= {"n_heads": max(1, width // d_head), "d_head": d_head, "n_kv_heads": max(1, n_keys // d_head)}
    return Description(
        fields=fields,
        conventions=[usual(name, value, variant) for name, value in of_variant.items()],
        questions=questions,
        notes=notes,
        weights=_with_gains(weights) if variant == "Gemma 3" else None,
    )


def _variant(weights: Mapping[str, Tensor]) -> str:
    """Return the kind of a model, by its normalizations."""
    if f"{_BLOCK}.norm1.weight" not in weights:
        return "OLMo 3"
    if f"{_BLOCK}.post_attention_layernorm.weight" in weights:
        return "Gemma 3"
    return "Qwen3" if f"{_BLOCK}.att.q_norm.weight" in weights else "Llama"


def _llama(
    vocab_size: int, d_model: int, width: int, given: Mapping[str, Any]
) -> tuple[dict[str, Any], list[Question]]:
    """Return the usual options of a Llama 3, and the questions for other models of its layout."""
    if vocab_size == _LLAMA3_TOKENS and d_model in _LLAMA32_HEADS:
        return {"n_heads": _LLAMA32_HEADS[d_model], "rotary_base": 500000.0, "rotary_scaling": "llama3"}, []
    why = Message("It is in the configuration of the program that trained the model.")
    return {}, [
        heads_question(width),
        Question("rotary_base", (500000.0, 10000.0, 1000000.0), why),
        Question("rotary_scaling", ("none", "llama3"), why),
    ]


def _with_gains(weights: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """Return the weights of a Gemma, whose normalizations are saved without the 1 of their gains."""
    gains = [key for key in weights if "norm" in key]
    return Computed(weights, changed(weights, gains, lambda gain: gain.float() + 1))


def keys(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of these models, as `recognize` names them."""
    norms = {**(_INPUT_NORMS if config.input_norm else {}), **(_OUTPUT_NORMS if config.output_norm else {})}
    qk_norms = {name: name for name in ("q_norm", "k_norm") if config.qk_norm}
    layer = (
        *inside("att", "self_attn", modules({**ATTENTION, **qk_norms}, WEIGHT)),
        *modules({"ff.fc1": "mlp.gate", "ff.fc2": "mlp.up", "ff.fc3": "mlp.down", **norms}, WEIGHT),
    )
    return (
        *embeddings(config, TOKENS, head=HEAD),
        *module("final_norm", "decoder.ln_final", WEIGHT),
        *in_layers(config, "trf_blocks.*", layer),
    )


LAYOUTS = (
    Layout(
        name="Raschka's Llama/Qwen3/Gemma 3/OLMo 3",
        model_type="raschka_llama",
        recognize=recognize,
        describe=describe,
        keys=keys,
        head=HEAD,
        names=_NAMES,
        settings=settings,
        ignored=(CLASSIFIER,),
    ),
)
