"""Cohere and Cohere 2: decoder-only, parallel sub-layers with one shared normalization, interleaved rotary, gated."""

from dataclasses import replace
from functools import partial
from typing import Any

from transformer_core.checkpoints import rotary_options
from transformer_core.checkpoints.entries import Entry, scaled
from transformer_core.checkpoints.families import llama
from transformer_core.checkpoints.family import CONSTANTS_IN_WEIGHTS, windows
from transformer_core.checkpoints.options import Options
from transformer_core.config import ModelConfig, QKNormScope


def read_cohere(options: Options) -> ModelConfig:
    """Return our configuration of a Cohere; the library's class is its only description."""
    is_normalized = options.switch("use_qk_norm", False)
    scope: QKNormScope = "per_head" if is_normalized else "shared"
    return replace(_read(options, usual_base=500_000.0), qk_norm=is_normalized, qk_norm_scope=scope)


def read_cohere2(options: Options) -> ModelConfig:
    """Return our configuration of a Cohere 2, whose layers have a window or no positions (Yang et al. 2025)."""
    n_layers, width = options.n_layers("num_hidden_layers"), options.whole_or_null("sliding_window", 4096)
    every = max(1, options.whole("sliding_window_pattern", 4))
    window = windows(options, n_layers, width, usual=range(every - 1, n_layers, every))
    rotary = {"layers_without_rotation": window.get("layers_without_window", ())}
    return _read(options, window=window, rotary=rotary)


def _read(options: Options, **differences: Any) -> ModelConfig:
    options.idle("logit_scale")  # in the weights
    config = llama.read(
        options,
        attention_bias="all" if options.switch("attention_bias", False) else "none",
        is_tied=True,
        tokens=(5, 255_001, 0),
        **differences,
    )
    return replace(
        config,
        positions="rotary_interleaved",
        norm="layer_without_bias",
        layer_norm_eps=options.number("layer_norm_eps", 1e-5),
        parallel_residual=True,
    )


def constants(options: Options) -> dict[str, float]:
    """Return the scale of the logits and YaRN's factor, by the keywords of `keys`."""
    return {**rotary_options.attention_factor(options), "of_logits": options.above_zero("logit_scale", 0.0625)}


def keys(config: ModelConfig, *, of_logits: float = 1.0, attention_factor: float = 1.0) -> tuple[Entry, ...]:
    """Return the entries of a Cohere; the gain of the last normalization scales the logits."""
    entries = llama.keys(config, attention_factor=attention_factor)
    return scaled(entries, {"decoder.ln_final.weight": of_logits if config.unembed else 1.0})


_family = partial(llama.family, keys=keys, beyond_config=constants, note=CONSTANTS_IN_WEIGHTS)
FAMILIES = (
    _family(model_type="cohere", read=read_cohere),
    _family(model_type="cohere2", read=read_cohere2),
)
