"""OLMo 2: a Llama that normalizes the outputs of its sub-layers, and queries and keys of all heads together."""

from dataclasses import replace

from transformer_core.checkpoints.families import llama
from transformer_core.checkpoints.family import Family
from transformer_core.checkpoints.options import Options
from transformer_core.config import ModelConfig


def read(options: Options) -> ModelConfig:
    """Return our configuration of an OLMo 2 (OLMo et al. 2025, sec. 2.1)."""
    config = llama.read(
        options,
        attention_bias="all" if options.switch("attention_bias", False) else "none",
        tokens=(None, 50279, 1),
    )
    return replace(
        config,
        layer_norm_eps=options.number("rms_norm_eps", 1e-5),
        input_norm=False,
        output_norm=True,
        qk_norm=True,
        qk_norm_scope="joint",
    )


FAMILIES = (
    Family(
        model_type="olmo2",
        read=read,
        keys=llama.keys,
        head=llama.HEAD,
        prefix="model.",
        beyond_config=llama.attention_factor,
    ),
)
