"""Gemma 1 to 3: Llamas with larger heads, normalized outputs, capped scores and windows, one more with each version."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from transformer_core.checkpoints import rotary_options
from transformer_core.checkpoints.entries import Entry, scaled
from transformer_core.checkpoints.families import llama
from transformer_core.checkpoints.family import CONSTANTS_IN_WEIGHTS, windows
from transformer_core.checkpoints.options import ACTIVATIONS, Options
from transformer_core.config import ModelConfig

PER_PATTERN = 6  # layers of Gemma 3 among which the last one has no window


def read_gemma(options: Options) -> ModelConfig:
    """Return our configuration of a Gemma.

    Source: Gemma Team 2024 (Gemma 1), sec. 2, and the library's class, as for those that follow.
    """
    options.idle("hidden_activation")
    activations = {**ACTIVATIONS, "gelu": ACTIVATIONS["gelu_pytorch_tanh"]}  # as older files call it
    return replace(
        _read(options, usual_kv_heads=16), activation=options.choice("hidden_act", activations, "gelu_pytorch_tanh")
    )


def read_gemma2(options: Options) -> ModelConfig:
    """Return our configuration of a Gemma 2 (Gemma Team 2024, sec. 2)."""
    n_layers = options.n_layers("num_hidden_layers")
    width = options.whole_or_null("sliding_window", 4096)
    return replace(
        _read(options, usual_kv_heads=4, window=windows(options, n_layers, width, usual=range(1, n_layers, 2))),
        activation=options.choice("hidden_activation", ACTIVATIONS, "gelu_pytorch_tanh"),
        output_norm=True,
        score_cap=options.number_or_null("attn_logit_softcapping", 50.0),
        logit_cap=options.number_or_null("final_logit_softcapping", 30.0),
    )


def read_gemma3(options: Options) -> ModelConfig:
    """Return our configuration of a Gemma 3, its language model alone (Gemma Team 2025, sec. 2)."""
    n_layers, every = options.n_layers("num_hidden_layers"), options.whole("sliding_window_pattern", PER_PATTERN)
    usual = range(every - 1, n_layers, max(1, every))
    window = windows(options, n_layers, options.whole_or_null("sliding_window", 4096), usual=usual)
    rotary = rotary_options.read_rotary_by_kind(
        options, window, usual_bases=(1_000_000.0, 10_000.0), base_in_window="rope_local_base_freq"
    )
    options.idle("attn_logit_softcapping")  # the library's class does not use it
    return replace(
        _read(options, usual_kv_heads=4, window=window, rotary=rotary),
        activation=options.choice("hidden_activation", ACTIVATIONS, "gelu_pytorch_tanh"),
        output_norm=True,
        qk_norm=True,
        logit_cap=options.number_or_null("final_logit_softcapping"),
    )


def _read(options: Options, *, usual_kv_heads: int, **differences: Any) -> ModelConfig:
    options.idle("query_pre_attn_scalar")  # in the weights
    config = llama.read(
        options,
        d_head=options.whole("head_dim", 256),
        usual_kv_heads=usual_kv_heads,
        attention_bias="all" if options.switch("attention_bias", False) else "none",
        is_tied=True,
        tokens=(2, 1, 0),
        **differences,
    )
    return replace(config, scale_embeddings=True)


def query_factor(options: Options) -> dict[str, float]:
    """Return the factors of queries, by the keywords of `keys`: scores are divided by another root than d_head's."""
    factor = (options.whole("head_dim", 256) / options.above_zero("query_pre_attn_scalar", 256)) ** 0.5
    return {**rotary_options.attention_factor(options), "query_factor": factor}


def keys(config: ModelConfig, *, attention_factor: float = 1.0, query_factor: float = 1.0) -> tuple[Entry, ...]:
    """Return the entries of a Gemma, whose normalizations multiply by 1 + weight."""
    entries = [_plus_one(entry) if _is_gain(entry.names[0]) else entry for entry in llama.entries(config)]
    rotated = rotary_options.query_factors(config, attention_factor)
    return scaled(scaled(entries, rotated), _factors(config, query_factor))


def _is_gain(name: str) -> bool:
    return name.split(".")[-2].startswith("ln") or name.split(".")[-2].endswith("norm")


def _plus_one(entry: Entry) -> Entry:
    return replace(entry, cut=lambda weight: [1 + part.float() for part in entry.cut(weight)])


def _factors(config: ModelConfig, factor: float) -> Mapping[str, float]:
    name = "q_norm" if config.qk_norm else "q"
    layers = range(config.n_decoder_layers) if factor != 1 else ()
    return {f"decoder.blocks.{i}.self_attn.{name}.{part}": factor for i in layers for part in ("weight", "bias")}


_family = partial(llama.family, keys=keys, note=CONSTANTS_IN_WEIGHTS)
FAMILIES = (
    _family(model_type="gemma", read=read_gemma),
    _family(model_type="gemma2", read=read_gemma2, beyond_config=query_factor),
    _family(model_type="gemma3_text", read=read_gemma3, beyond_config=query_factor),
)
