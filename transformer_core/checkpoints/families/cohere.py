"""Cohere's Command R: decoder-only, parallel sub-layers with one shared normalization, interleaved rotary, gated."""

from dataclasses import replace

from transformer_core.checkpoints.families import llama
from transformer_core.checkpoints.family import Entry, Family, scaled
from transformer_core.checkpoints.options import Options
from transformer_core.config import ModelConfig


def read(options: Options) -> ModelConfig:
    """Return our configuration of a Cohere; the library's class is its only description."""
    options.idle("logit_scale")  # in the weights
    is_normalized = options.switch("use_qk_norm", False)
    config = llama.read(
        options,
        attention_bias="all" if options.switch("attention_bias", False) else "none",
        usual_base=500_000.0,
        is_tied=True,
        tokens=(5, 255_001, 0),
    )
    return replace(
        config,
        positions="rotary_interleaved",
        norm="layer_without_bias",
        layer_norm_eps=options.number("layer_norm_eps", 1e-5),
        parallel_residual=True,
        qk_norm=is_normalized,
        qk_norm_scope="per_head" if is_normalized else "shared",
    )


def constants(options: Options) -> dict[str, float]:
    """Return the scale of the logits and YaRN's factor, by the keywords of `keys`."""
    return {**llama.attention_factor(options), "of_logits": options.above_zero("logit_scale", 0.0625)}


def keys(config: ModelConfig, *, of_logits: float = 1.0, attention_factor: float = 1.0) -> tuple[Entry, ...]:
    """Return the entries of a Cohere; the gain of the last normalization scales the logits."""
    entries = llama.keys(config, attention_factor=attention_factor)
    return scaled(entries, {"decoder.ln_final.weight": of_logits if config.unembed else 1.0})


FAMILIES = (
    Family(model_type="cohere", read=read, keys=keys, head=llama.HEAD, prefix="model.", beyond_config=constants),
)
