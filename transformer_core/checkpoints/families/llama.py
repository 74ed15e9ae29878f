"""Llama, Mistral, Qwen2, Qwen3 and SmolLM3: decoder-only, pre-norm, RMS norm, rotary, gated."""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor

from transformer_core.checkpoints.family import (
    FULL,
    WINDOW,
    Entry,
    Family,
    decoder_only,
    embeddings,
    module,
    scaled,
    shared,
    windows,
)
from transformer_core.checkpoints.options import ACTIVATIONS, Options
from transformer_core.config import AttentionBias, ModelConfig, RotaryScaling
from transformer_core.errors import Message

HEAD = "lm_head.weight"
SCALINGS: dict[str, RotaryScaling] = {
    **{"default": "none", "linear": "linear", "llama3": "llama3", "yarn": "yarn"},
    "dynamic": "none",  # it only changes the frequencies beyond max_position_embeddings
}


def read_llama(options: Options) -> ModelConfig:
    """Return our configuration of a Llama; SmolLM and SmolLM2 are Llamas.

    Source: Touvron et al. 2023, sec. 2.2, and the library's class, as for those that follow.
    """
    return read(
        options,
        attention_bias="all" if options.switch("attention_bias", False) else "none",
        feed_forward_bias=options.switch("mlp_bias", False),
    )


def read_mistral(options: Options) -> ModelConfig:
    """Return our configuration of a Mistral (Jiang et al. 2023, sec. 2)."""
    return read(options, usual_kv_heads=8, window={"sliding_window": options.whole_or_null("sliding_window", 4096)})


def read_qwen2(options: Options) -> ModelConfig:
    """Return our configuration of a Qwen2 (Yang et al. 2024, sec. 2.2)."""
    return read(
        options,
        usual_kv_heads=32,
        attention_bias="qkv",
        window=window_of_qwen(options),
        tokens=(None, None, None),
    )


def read_qwen3(options: Options) -> ModelConfig:
    """Return our configuration of a Qwen3 (Yang et al. 2025, sec. 2)."""
    return read(
        options,
        d_head=options.whole("head_dim", 128),
        usual_kv_heads=32,
        attention_bias="all" if options.switch("attention_bias", False) else "none",
        qk_norm=True,
        window=window_of_qwen(options),
        tokens=(None, None, None),
    )


def read_smollm3(options: Options) -> ModelConfig:
    """Return our configuration of a SmolLM3, some layers of which have no positions (Bakouche et al. 2025)."""
    options.idle("max_window_layers")
    n_layers = options.n_layers("num_hidden_layers")
    interval, width = options.whole("no_rope_layer_interval", 4), options.whole_or_null("sliding_window")
    usual = [int(interval < 1 or (i + 1) % interval != 0) for i in range(n_layers)]
    is_rotated = options.value("no_rope_layers", usual)
    if type(is_rotated) is not list or len(is_rotated) < n_layers or any(value not in (0, 1) for value in is_rotated):
        raise options.error("no_rope_layers", Message("expected 0 or 1 for each layer"))
    rotated = [i for i in range(n_layers) if is_rotated[i]]
    width = width if options.switch("use_sliding_window", False) else None
    return read(
        options,
        usual_kv_heads=4,
        attention_bias="all" if options.switch("attention_bias", False) else "none",
        feed_forward_bias=options.switch("mlp_bias", False),
        window=windows(options, n_layers, width, usual=rotated),
        rotary={"layers_without_rotation": tuple(i for i in range(n_layers) if not is_rotated[i])},
        usual_base=2_000_000.0,
        is_tied=True,
        tokens=(128_000, 128_001, 128_004),
    )


def read(
    options: Options,
    *,
    d_head: int | None = None,
    usual_kv_heads: int | None = None,
    attention_bias: AttentionBias = "none",
    feed_forward_bias: bool = False,
    qk_norm: bool = False,
    window: Mapping[str, Any] = MappingProxyType({}),
    rotary: Mapping[str, Any] = MappingProxyType({}),
    usual_base: float = 10_000.0,
    is_tied: bool = False,
    tokens: tuple[int | None, int | None, int | None] = (1, 2, None),
) -> ModelConfig:
    """Return the configuration of one of these models, given what distinguishes it from the others."""
    options.idle("pretraining_tp")
    rotary = {**read_rotary(options, usual_base=usual_base, has_yarn=True), **rotary}
    if window.get("layers_without_window") and "rotary_base_in_window" not in rotary:
        if rotary.get("rotary_scaling", "none") != "none":
            raise options.error("rope_parameters", Message("scaling is not supported beside a window in some layers"))
        rotary["rotary_base_in_window"] = rotary["rotary_base"]
    return decoder_only(
        vocab_size=options.whole("vocab_size"),
        d_model=options.whole("hidden_size"),
        d_ff=options.whole("intermediate_size"),
        n_heads=options.whole("num_attention_heads"),
        d_head=d_head or options.whole_or_null("head_dim") or 0,
        n_kv_heads=options.whole_or_null("num_key_value_heads", usual_kv_heads) or 0,
        n_decoder_layers=options.whole("num_hidden_layers"),
        max_seq_len=options.whole("max_position_embeddings"),
        **rotary,
        norm="rms",
        layer_norm_eps=options.number("rms_norm_eps", 1e-6),
        activation=options.choice("hidden_act", ACTIVATIONS, "silu"),
        gated=True,
        feed_forward_bias=feed_forward_bias,
        attention_bias=attention_bias,
        qk_norm=qk_norm,
        **window,
        tie_embeddings="target" if options.switch("tie_word_embeddings", is_tied) else "none",
        dropout=0.0,
        dropout_pattern=options.number("attention_dropout", 0.0),
        **options.tokens_of_decoder(*tokens),
    )


def read_rotary(
    options: Options,
    *,
    fraction: float | None = None,
    base: str = "rope_theta",
    usual_base: float = 10_000.0,
    has_yarn: bool = False,
) -> dict[str, Any]:
    """Return the rotary fields of a configuration: `rope_parameters`, in older files `rope_theta` and `rope_scaling`.

    Args:
        options: the options of the whole model.
        fraction: rotated fraction of each head, unless `rope_parameters` gives it; None: always the whole head.
        base: the name of `rope_theta` in older files.
        usual_base: `rope_theta`, if it is missing.
        has_yarn: the family's table scales queries by `attention_factor`.
    """
    options.idle("rope_scaling", "rope_parameters")
    inner = _rotary_options(options)
    for fields in (options, inner):
        if fraction is None:
            fields.must_be(
                "partial_rotary_factor", 1.0, Message("this family only supports RoPE on all dimensions of a head")
            )
        fields.idle("original_max_position_embeddings")
    part = 1.0 if fraction is None else inner.number("partial_rotary_factor", fraction)
    rotary: dict[str, Any] = {
        "positions": "rotary_halves",
        "rotary_base": inner.number("rope_theta", options.number(base, usual_base)),
        "rotary_fraction": part,
    }
    scalings = {name: kind for name, kind in SCALINGS.items() if has_yarn or kind != "yarn"}
    scaling = inner.choice(_kind_of_scaling(inner), scalings, "default")
    inner.idle("factor")
    if scaling != "none":
        rotary |= {"rotary_scaling": scaling, "rotary_scaling_factor": _scaling_factor(options, inner)}
    if scaling in ("llama3", "yarn"):
        low, high = ("beta_slow", "beta_fast") if scaling == "yarn" else ("low_freq_factor", "high_freq_factor")
        rotary |= {
            "rotary_low_freq_factor": inner.number(low, 1.0 if scaling == "yarn" else None),
            "rotary_high_freq_factor": inner.number(high, 32.0 if scaling == "yarn" else None),
            "rotary_original_len": _original_len(options, inner),
        }
    if scaling == "yarn":
        inner.must_be("truncate", True, Message("the pairs between which frequencies change are whole numbers"))
        inner.idle("attention_factor", "mscale", "mscale_all_dim")  # in the weights
    inner.finish()
    return rotary


def read_rotary_by_kind(
    options: Options, window: Mapping[str, Any], *, usual_bases: tuple[float, float], base_in_window: str
) -> dict[str, Any]:
    """Return the rotary fields of a model whose layers with a window have another RoPE, which is not scaled.

    Args:
        options: the options of the whole model.
        window: the fields of the sliding window.
        usual_bases: `rope_theta` of layers without and with a window, if it is missing.
        base_in_window: the name of the latter in older files.
    """
    in_window = options.inside("rope_parameters").inside(WINDOW)
    in_window.must_be("rope_type", "default", Message("only layers without a window support scaled RoPE"))
    base = in_window.number("rope_theta", options.number(base_in_window, usual_bases[1]))
    if window and not window.get("layers_without_window"):
        return {"rotary_base": base, "rotary_scaling": "none", "rotary_scaling_factor": 1.0}
    rotary = read_rotary(options, usual_base=usual_bases[0], has_yarn=True)
    return {**rotary, "rotary_base_in_window": base} if window else rotary


def attention_factor(options: Options) -> dict[str, float]:
    """Return YaRN's factor of rotated queries and keys, by the keyword of `keys` (Peng et al. 2023, sec. 3.4)."""
    inner = _rotary_options(options)
    if inner.value(_kind_of_scaling(inner)) != "yarn":
        return {}
    factor = _scaling_factor(options, inner)

    def scale(weight: float) -> float:
        return 0.1 * weight * math.log(factor) + 1 if factor > 1 else 1.0

    weights = inner.number("mscale", 0.0), inner.number("mscale_all_dim", 0.0)
    usual = scale(weights[0]) / (scale(weights[1]) or 1.0) if all(weights) else scale(1.0)
    return {"attention_factor": inner.number("attention_factor", usual)}


def _rotary_options(options: Options) -> Options:
    """Return the rotary options: of the layers without a window, if there are two kinds."""
    inner = options.inside("rope_scaling" if "rope_scaling" in options else "rope_parameters")
    return inner.inside(FULL) if FULL in inner or WINDOW in inner else inner


def _kind_of_scaling(inner: Options) -> str:
    """Return the name of the option for the kind of scaling."""
    return "type" if "type" in inner and "rope_type" not in inner else "rope_type"


def _original_len(options: Options, inner: Options) -> int:
    """Return the context length in training."""
    outermost = options if "original_max_position_embeddings" in options else inner
    return outermost.whole("original_max_position_embeddings", options.whole("max_position_embeddings"))


def _scaling_factor(options: Options, inner: Options) -> float:
    """Return the scaling factor; YaRN's follows from the two context lengths if it is null."""
    is_yarn = inner.value(_kind_of_scaling(inner)) == "yarn"
    lengths = options.whole("max_position_embeddings"), max(_original_len(options, inner), 1)
    return inner.number("factor", lengths[0] / lengths[1] if is_yarn else None)


def window_of_qwen(options: Options) -> dict[str, Any]:
    """Return the fields of the sliding window of a Qwen, in its last layers."""
    width, first = options.whole_or_null("sliding_window", 4096), options.whole("max_window_layers", 28)
    width = width if options.switch("use_sliding_window", False) else None
    return windows(options, options.n_layers("num_hidden_layers"), width, usual=range(first))


def keys(config: ModelConfig, *, attention_factor: float = 1.0) -> tuple[Entry, ...]:
    """Return the entries of these models, with queries scaled by the square of `attention_factor`."""
    return scaled(entries(config), query_factors(config, attention_factor**2))


def entries(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of these models, and of relatives with other normalizations."""
    weight, both = ("weight",), ("weight", "bias")
    qkv = weight if config.attention_bias == "none" else both
    out = both if config.attention_bias == "all" else weight
    feed_forward = both if config.feed_forward_bias else weight
    of_a_layer = [
        ("self_attn.q_proj", "self_attn.q", qkv),
        ("self_attn.k_proj", "self_attn.k", qkv),
        ("self_attn.v_proj", "self_attn.v", qkv),
        ("self_attn.o_proj", "self_attn.out", out),
        ("mlp.gate_proj", "mlp.gate", feed_forward),
        ("mlp.up_proj", "mlp.up", feed_forward),
        ("mlp.down_proj", "mlp.down", feed_forward),
    ]
    entries = [
        *embeddings(config, "model.embed_tokens.weight", head=HEAD),
        *module("model.norm", "decoder.ln_final", weight),
    ]
    for i in range(config.n_decoder_layers):
        for their_name, our_name, parts in of_a_layer:
            entries += module(f"model.layers.{i}.{their_name}", f"decoder.blocks.{i}.{our_name}", parts)
        for their_name, our_names in _norms(config).items():
            entries += shared(
                f"model.layers.{i}.{their_name}", [f"decoder.blocks.{i}.{name}" for name in our_names], weight
            )
        for name in ("q_norm", "k_norm") if config.qk_norm else ():
            ours = (f"decoder.blocks.{i}.self_attn.{name}.weight",)
            entries.append(Entry(f"model.layers.{i}.self_attn.{name}.weight", ours, all_heads))
    return tuple(entries)


def _norms(config: ModelConfig) -> dict[str, tuple[str, ...]]:
    """Return ours by their names of normalizations; Llama's "post attention" is before the feed-forward network."""
    if config.parallel_residual:
        return {"input_layernorm": ("ln1", "ln2")}
    if not config.output_norm:
        return {"input_layernorm": ("ln1",), "post_attention_layernorm": ("ln2",)}
    before = {"input_layernorm": ("ln1",), "pre_feedforward_layernorm": ("ln2",)} if config.input_norm else {}
    return {
        **before,
        "post_attention_layernorm": ("self_attn.out_norm",),
        "post_feedforward_layernorm": ("mlp.out_norm",),
    }


def all_heads(gains: Tensor) -> tuple[Tensor]:
    """Return the gains of all heads one after the other, which some families have by head."""
    return (gains.flatten(),)


def query_factors(config: ModelConfig, factor: float) -> dict[str, Tensor]:
    """Return factors of the parameters of queries that scale the products of rotated queries and keys.

    Args:
        config: with rotary positions.
        factor: of the products; only the rotated part of each head is scaled.
    """
    if factor == 1:
        return {}
    of_head = torch.ones(config.d_head, dtype=torch.float64)
    of_head[: config.n_rotated] = factor
    name = "q_norm" if config.qk_norm else "q"
    factors = of_head if config.qk_norm and config.qk_norm_scope == "shared" else of_head.repeat(config.n_heads)
    each = enumerate(map(config.at_layer, range(config.n_decoder_layers)))
    layers = [i for i, one in each if one.has_rotary_positions and one.rotary_scaling == config.rotary_scaling]
    parts = ("weight", "bias")
    return {f"decoder.blocks.{i}.self_attn.{name}.{part}": factors for i in layers for part in parts}


READERS = {
    "llama": read_llama,
    "mistral": read_mistral,
    "qwen2": read_qwen2,
    "qwen3": read_qwen3,
    "smollm3": read_smollm3,
}
FAMILIES = tuple(
    Family(model_type=model_type, read=reader, keys=keys, head=HEAD, prefix="model.", beyond_config=attention_factor)
    for model_type, reader in READERS.items()
)
