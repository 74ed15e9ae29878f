"""LitGPT: decoders of many kinds in lit_model.pth, described by the model_config.yaml next to it."""

import math
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from transformer_core.checked_fields import is_above_zero
from transformer_core.checkpoints.describing import DECODER_ONLY, Computed, having, heads_question, n_layers
from transformer_core.checkpoints.entries import WEIGHT, Entry, embeddings, fused, in_layers, module, modules, parts
from transformer_core.checkpoints.families.gpt_bigcode import one_after_another
from transformer_core.checkpoints.layout import Description, Layout, Question, SavedModel
from transformer_core.checkpoints.options import Options, generation_beside
from transformer_core.checkpoints.plain_files import read_yaml
from transformer_core.config import ModelConfig
from transformer_core.errors import Message

CONFIG, HEAD = "model_config.yaml", "lm_head.weight"
_BLOCK, _OLDER = "transformer.h.0", ".attn.attn."  # before 2024-12-26: queries, keys and values of each group in turn
_NAMES = {
    **{"n_layer": "n_decoder_layers", "n_embd": "d_model", "n_head": "n_heads", "head_size": "d_head"},
    **{"n_query_groups": "n_kv_heads", "block_size": "max_seq_len", "intermediate_size": "d_ff"},
    **{"padded_vocab_size": "vocab_size", "norm_eps": "layer_norm_eps", "rotary_percentage": "rotary_fraction"},
    **{"rope_base": "rotary_base", "final_logit_softcapping": "logit_cap", "scale_embeddings": "scale_embeddings"},
    **{"attention_logit_softcapping": "score_cap", "parallel_residual": "parallel_residual"},
}
_OUTPUT_NORMS = {"post_attention_norm": "self_attn.out_norm", "post_mlp_norm": "mlp.out_norm"}
_OFF = {  # options that must have these values
    **{"n_expert": 0, "latent_attention": None, "rope_indices": None, "rope_local_base_freq": None},
    "first_k_dense_replace": None,
}
_IDLE = (
    *("norm_class_name", "norm_qk", "norm_qk_type", "norm_1", "norm_2", "post_attention_norm", "post_mlp_norm"),
    *("shared_attention_norm", "attn_bias", "bias", "lm_head_bias", "mlp_class_name", "attention_scores_scalar"),
    *("rope_n_elem", "rope_condense_ratio", "rope_adjustments", "rope_interleave", "sliding_window_size"),
    *("sliding_window_indices", "sliding_window_layer_placing", "sliding_window_layer_stride"),
    *("moe_intermediate_size", "n_expert_per_token", "routed_scaling_factor", "norm_topk_prob", "n_expert_groups"),
    "n_shared_expert",
)


def recognize(saved: SavedModel) -> Mapping[str, Tensor] | None:
    """Return the tensors of a LitGPT model, whose queries, keys and values are one matrix."""
    for fused_layer in ("qkv", "attn"):
        if weights := having(f"{_BLOCK}.attn.{fused_layer}.weight", "transformer.wte.weight", HEAD)(saved):
            return weights
    return None


def settings(saved: SavedModel) -> Mapping[str, Any]:
    """Return the fields in model_config.yaml, and in config.json, which takes precedence.

    Raises:
        CheckpointError: the file is damaged, or has an unsupported option.
    """
    path = saved.folder / CONFIG
    return {**(_fields(read_yaml(path), path) if path.is_file() else {}), **saved.config}


def _fields(values: Mapping[str, Any], path: Path) -> dict[str, Any]:
    options = Options(values, where=str(path))
    options.idle(*_NAMES, *_IDLE)
    for name, value in _OFF.items():
        options.must_be(name, value, Message("models with it cannot be computed here"))
    options.finish()
    fields = {ours: values[theirs] for theirs, ours in _NAMES.items() if values.get(theirs) is not None}
    approximate = options.value("gelu_approximate", "none") == "tanh"
    gated_by_silu = options.value("mlp_class_name", "GptNeoxMLP") == "LLaMAMLP"
    fields["activation"] = "silu" if gated_by_silu else "gelu_tanh" if approximate else "gelu"
    fields["positions"] = "rotary_interleaved" if options.switch("rope_interleave", False) else "rotary_halves"
    if fields.get("rotary_fraction") == 0:
        fields = {name: value for name, value in fields.items() if not name.startswith("rotary")}
        fields["positions"] = "none"
    else:
        fields |= _rotary_scaling(options)
    if options.value("norm_qk_type") == "olmo2" and options.switch("norm_qk", False):
        fields["qk_norm_scope"] = "joint"
    if (width := options.whole_or_null("sliding_window_size")) is not None:
        n = options.n_layers("n_layer")
        placing = options.value("sliding_window_layer_placing")  # in older files
        interval = placing if type(placing) is int and placing > 0 else 2 if placing == "interleaved" else 1
        layers = options.value("sliding_window_indices", [int(i % interval == 0) for i in range(n)])
        if not isinstance(layers, list) or len(layers) < n:
            raise options.error("sliding_window_indices", Message("expected a number for each layer"))
        fields |= {"sliding_window": width, "layers_without_window": tuple(i for i in range(n) if not layers[i])}
        if fields["layers_without_window"] and "rotary_base" in fields:
            if "rotary_scaling" in fields:
                raise options.error("sliding_window_size", Message("it is only supported without RoPE scaling"))
            fields["rotary_base_in_window"] = fields["rotary_base"]  # one RoPE for all layers
    return fields


def _rotary_scaling(options: Options) -> dict[str, Any]:
    """Return the fields of RoPE scaling: of positions divided by a factor, or that of Llama 3."""
    scaling, divisor = options.inside("rope_adjustments"), options.number("rope_condense_ratio", 1)
    scaling.must_be("beta_fast", None, Message("YaRN is not supported here"))
    if "low_freq_factor" in scaling:
        return {
            "rotary_scaling": "llama3",
            "rotary_scaling_factor": scaling.number("factor"),
            "rotary_low_freq_factor": scaling.number("low_freq_factor"),
            "rotary_high_freq_factor": scaling.number("high_freq_factor"),
            "rotary_original_len": scaling.whole("original_max_seq_len"),
        }
    factor = scaling.number("factor", 1.0) * divisor
    return {"rotary_scaling": "linear", "rotary_scaling_factor": factor} if factor != 1 else {}


def describe(saved: SavedModel, given: Mapping[str, Any]) -> Description:
    """Return the description of a LitGPT model.

    Source: the classes Config and GPT of github.com/Lightning-AI/litgpt.
    """
    weights, path = saved.weights, saved.folder / CONFIG
    vocab_size, d_model = weights["transformer.wte.weight"].shape
    about = read_yaml(path) if path.is_file() else {}
    has_norm, has_bias = f"{_BLOCK}.norm_1.weight" in weights, f"{_BLOCK}.attn.proj.bias" in weights
    qkv_bias = any(f"{_BLOCK}.attn.{name}.bias" in weights for name in ("qkv", "attn"))
    is_gated = f"{_BLOCK}.mlp.fc_1.weight" in weights
    up = "fc_2" if is_gated else "fc"
    fields = {
        **DECODER_ONLY,
        "vocab_size": vocab_size,
        "d_model": d_model,
        "d_ff": weights[f"{_BLOCK}.mlp.{up}.weight"].shape[0],
        "n_decoder_layers": n_layers(weights, "transformer.h.", ".attn.proj.weight"),
        "max_seq_len": 4096,
        "positions": "rotary_halves",
        "norm": "layer" if "transformer.ln_f.bias" in weights else "rms",
        "input_norm": has_norm,
        "output_norm": f"{_BLOCK}.post_attention_norm.weight" in weights,
        "qk_norm": f"{_BLOCK}.attn.norm_q.weight" in weights,
        "gated": is_gated,
        "activation": "silu" if is_gated else "gelu",
        "feed_forward_bias": has_bias,
        "attention_bias": "all" if has_bias else "qkv" if qkv_bias else "none",
        "tie_embeddings": "target",
        "unembed_bias": "lm_head.bias" in weights,
        "bos_id": _token(saved, "bos_token_id"),
        "eos_id": _token(saved, "eos_token_id"),
    }
    if "n_heads" in given:
        width = given.get("d_head") or d_model // given["n_heads"]
        fused_layer = weights.get(f"{_BLOCK}.attn.qkv.weight", weights.get(f"{_BLOCK}.attn.attn.weight"))
        assert fused_layer is not None  # or it would not have been recognized
        fields["n_kv_heads"] = max(1, (fused_layer.shape[0] // max(1, width) - given["n_heads"]) // 2)
    return Description(
        fields=fields,
        questions=() if about else _questions(d_model, is_gated),
        weights=_rearranged(weights, {**fields, **given}, about),
    )


def _token(saved: SavedModel, name: str) -> int | None:
    """Return a special token in the generation_config.json that LitGPT keeps."""
    token = (generation_beside(saved.folder) or {}).get(name)
    token = token[0] if isinstance(token, list) and token else token
    return token if type(token) is int and 0 <= token < saved.weights["transformer.wte.weight"].shape[0] else None


def _questions(d_model: int, is_gated: bool) -> list[Question]:
    """Return the questions for a model without its model_config.yaml."""
    why = Message("It is in {config}, which LitGPT writes next to the weights.", config=CONFIG)
    questions = [heads_question(d_model), Question("rotary_base", (10000, 500000, 1000000), why)]
    if not is_gated:
        questions += [
            Question("rotary_fraction", (0.25, 1.0, 0.4, 0.5), why),
            Question("parallel_residual", (True, False), why),
        ]
    return questions


def _rearranged(
    weights: Mapping[str, Tensor], fields: Mapping[str, Any], about: Mapping[str, Any]
) -> Mapping[str, Tensor]:
    """Return the tensors by the keys of the table: queries, keys and values stacked, gains and scales multiplied in."""
    is_gemma, scalar = "Gemma" in str(about.get("name")), about.get("attention_scores_scalar")
    d_head = fields.get("d_head") or fields["d_model"] // fields.get("n_heads", 1)
    scale = math.sqrt(d_head / scalar) if is_above_zero(scalar) else 1.0  # of the scores
    is_normed = fields["qk_norm"]
    computed: dict[str, Callable[[], Tensor]] = {}
    for key in weights:
        if _OLDER in key or ".attn.qkv." in key:
            new = partial(_stacked, weights, key, fields, 1.0 if is_normed else scale)
            computed[key.replace(_OLDER, ".attn.qkv.")] = new
        elif "norm" in key or ".ln_f." in key:
            gain = partial(_gain, weights, key, 1.0 if is_gemma else 0.0, scale if ".norm_q." in key else 1.0)
            computed[key] = gain
            if ".norm_1." in key and (other := key.replace(".norm_1.", ".norm_2.")) not in weights:
                computed[other] = gain  # one norm for both sub-layers
    return Computed(weights, computed, without=[key for key in weights if _OLDER in key])


def _stacked(weights: Mapping[str, Tensor], key: str, fields: Mapping[str, Any], scale: float) -> Tensor:
    """Return the rows of all queries, then those of all keys, then those of all values; queries are scaled."""
    n_heads, n_groups, rows = fields["n_heads"], fields["n_kv_heads"], weights[key]
    n_queries = n_heads // n_groups
    if _OLDER in key:
        grouped = rows.view(n_groups, n_queries + 2, -1, *rows.shape[1:])
        parts = grouped.split([n_queries, 1, 1], dim=1)
        rows = torch.cat([part.reshape(-1, *rows.shape[1:]) for part in parts])
    if scale == 1.0:
        return rows
    n_rows = rows.shape[0] * n_heads // (n_heads + 2 * n_groups)
    return torch.cat([rows[:n_rows].float() * scale, rows[n_rows:].float()])


def _gain(weights: Mapping[str, Tensor], key: str, offset: float, scale: float) -> Tensor:
    """Return the gain of a normalization, which Gemma saves without its 1."""
    weight = weights[key]
    return weight if offset == 0.0 and scale == 1.0 else (weight.float() + offset) * scale


def keys(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of a LitGPT model, as `describe` rearranges it."""
    norm = parts(config.norm == "layer")
    norms = {"norm_1": "ln1", "norm_2": "ln2"} if config.input_norm else {}
    norms |= _OUTPUT_NORMS if config.output_norm else {}
    qk_norms = {f"attn.norm_{name}": f"self_attn.{name}_norm" for name in ("q", "k") if config.qk_norm}
    up = {"mlp.fc_1": "mlp.gate", "mlp.fc_2": "mlp.up"} if config.gated else {"mlp.fc": "mlp.up"}
    linear = {"attn.proj": "self_attn.out", **up, "mlp.proj": "mlp.down"}
    qkv = parts(config.attention_bias != "none")
    layer = (
        *modules(norms, norm),
        *modules(qk_norms, WEIGHT),
        *fused("attn.qkv", "self_attn", cut=one_after_another(config), parts=qkv),
        *modules(linear, parts(config.feed_forward_bias)),
    )
    return (
        *embeddings(config, "transformer.wte.weight", head=HEAD),
        *module("transformer.ln_f", "decoder.ln_final", norm),
        *([Entry("lm_head.bias", ("unembed.bias",))] if config.unembed_bias else []),
        *in_layers(config, "transformer.h.*", layer),
    )


LAYOUTS = (
    Layout(
        name="LitGPT",
        model_type="litgpt",
        recognize=recognize,
        describe=describe,
        keys=keys,
        head=HEAD,
        names={"vocab_size": ""},  # in LitGPT without the rows of padding; the tensors have them
        settings=settings,
        described_in=CONFIG,
    ),
)
