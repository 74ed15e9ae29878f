"""Granite: a Llama whose embeddings, scores, sub-layers and logits are multiplied by constants, here in the weights."""

import math

from transformer_core.checkpoints import rotary_options
from transformer_core.checkpoints.entries import Entry, scaled
from transformer_core.checkpoints.families import llama
from transformer_core.checkpoints.family import CONSTANTS_IN_WEIGHTS
from transformer_core.checkpoints.options import Options
from transformer_core.config import ModelConfig


def read(options: Options) -> ModelConfig:
    """Return our configuration of a Granite (Granite Team 2024, sec. 3)."""
    options.idle("embedding_multiplier", "attention_multiplier", "residual_multiplier", "logits_scaling")
    return llama.read_llama(options)


def constants(options: Options) -> dict[str, float]:
    """Return the constants, by the keywords of `keys`."""
    return {
        **rotary_options.attention_factor(options),
        "of_embeddings": options.above_zero("embedding_multiplier", 1.0),
        "of_scores": options.above_zero("attention_multiplier", 1.0),
        "of_outputs": options.above_zero("residual_multiplier", 1.0),
        "of_logits": 1 / options.above_zero("logits_scaling", 1.0),
    }


def keys(
    config: ModelConfig,
    *,
    of_embeddings: float = 1.0,
    of_scores: float = 1.0,
    of_outputs: float = 1.0,
    of_logits: float = 1.0,
    attention_factor: float = 1.0,
) -> tuple[Entry, ...]:
    """Return the entries of a Granite, with its constants in the weights.

    The gain of the last normalization scales the logits, and undoes the scale of a tied embedding.
    """
    of_final_states = of_logits / (of_embeddings if config.tie_embeddings == "target" else 1.0)
    factors = {
        "decoder.embed.weight": of_embeddings,
        "decoder.ln_final.weight": of_final_states if config.unembed else 1.0,
    }
    for i in range(config.n_decoder_layers):
        for part in ("weight", "bias"):
            factors[f"decoder.blocks.{i}.self_attn.q.{part}"] = of_scores * math.sqrt(config.d_head)
            factors[f"decoder.blocks.{i}.self_attn.out.{part}"] = of_outputs
            factors[f"decoder.blocks.{i}.mlp.down.{part}"] = of_outputs
    return scaled(llama.keys(config, attention_factor=attention_factor), factors)


FAMILIES = (
    llama.family(model_type="granite", read=read, keys=keys, beyond_config=constants, note=CONSTANTS_IN_WEIGHTS),
)
