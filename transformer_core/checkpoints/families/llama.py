"""Llama, Mistral, Qwen2, Qwen3 and SmolLM3: decoder-only, pre-norm, RMS norm, rotary, gated."""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from torch import Tensor

from transformer_core.checkpoints.entries import (
    Entry,
    embeddings,
    in_layers,
    inside,
    module,
    modules,
    parts,
    scaled,
    shared,
)
from transformer_core.checkpoints.family import Family, decoder_only, sizes, windows
from transformer_core.checkpoints.options import ACTIVATIONS, Options
from transformer_core.checkpoints.rotary_options import attention_factor, query_factors, read_rotary
from transformer_core.config import AttentionBias, ModelConfig
from transformer_core.errors import Message

HEAD = "lm_head.weight"


def read_llama(options: Options) -> ModelConfig:
    """Return our configuration of a Llama; SmolLM and SmolLM2 are Llamas (Touvron et al. 2023, sec. 2.2)."""
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
    window, tokens = window_of_qwen(options), (None, None, None)
    return read(options, usual_kv_heads=32, attention_bias="qkv", window=window, tokens=tokens)


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
    usual = {} if "rotary_base" in rotary else read_rotary(options, usual_base=usual_base, has_yarn=True)
    positions = {**usual, **rotary}
    if window.get("layers_without_window") and "rotary_base_in_window" not in positions:
        if positions.get("rotary_scaling", "none") != "none":
            raise options.error("rope_parameters", Message("scaling is not supported beside a window in some layers"))
        positions["rotary_base_in_window"] = positions["rotary_base"]
    return decoder_only(
        **sizes(options),
        d_head=d_head or options.whole_or_null("head_dim") or 0,
        n_kv_heads=options.whole_or_null("num_key_value_heads", usual_kv_heads) or 0,
        max_seq_len=options.whole("max_position_embeddings"),
        **positions,
        norm="rms",
        layer_norm_eps=options.number("rms_norm_eps", 1e-6),
        activation=options.choice("hidden_act", ACTIVATIONS, "silu"),
        gated=True,
        feed_forward_bias=feed_forward_bias,
        attention_bias=attention_bias,
        qk_norm=qk_norm,
        **window,
        tie_embeddings=options.tying(is_tied),
        dropout=0.0,
        dropout_pattern=options.number("attention_dropout", 0.0),
        **options.tokens_of_decoder(*tokens),
    )


def window_of_qwen(options: Options) -> dict[str, Any]:
    """Return the fields of the sliding window of a Qwen, in its last layers."""
    width, first = options.whole_or_null("sliding_window", 4096), options.whole("max_window_layers", 28)
    width = width if options.switch("use_sliding_window", False) else None
    return windows(options, options.n_layers("num_hidden_layers"), width, usual=range(first))


def keys(config: ModelConfig, *, attention_factor: float = 1.0) -> tuple[Entry, ...]:
    """Return the entries of these models, with queries scaled by the square of `attention_factor`."""
    return scaled(entries(config), query_factors(config, attention_factor))


def entries(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of these models, and of relatives with other normalizations."""
    norm, network = parts(config.norm == "layer"), {f"{name}_proj": name for name in ("gate", "up", "down")}
    attention = [
        *modules({f"{name}_proj": name for name in ("q", "k", "v")}, parts(config.attention_bias != "none")),
        *module("o_proj", "out", parts(config.attention_bias == "all")),
        *(Entry(f"{name}.weight", (f"{name}.weight",), all_heads) for name in ("q_norm", "k_norm") if config.qk_norm),
    ]
    layer = [
        *inside("self_attn", "self_attn", attention),
        *inside("mlp", "mlp", modules(network, parts(config.feed_forward_bias))),
        *(entry for theirs, ours in _norms(config).items() for entry in shared(theirs, ours, norm)),
    ]
    return (
        *embeddings(config, "model.embed_tokens.weight", head=HEAD),
        *module("model.norm", "decoder.ln_final", norm),
        *in_layers(config, "model.layers.*", layer),
    )


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


READERS = {"llama": read_llama, "mistral": read_mistral, "qwen2": read_qwen2, "qwen3": read_qwen3}
READERS |= {"smollm3": read_smollm3}
family = partial(Family, keys=keys, head=HEAD, prefix="model.", beyond_config=attention_factor)
FAMILIES = tuple(family(model_type=model_type, read=reader) for model_type, reader in READERS.items())
