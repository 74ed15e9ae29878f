"""OLMo 2 and 3: Llamas that normalize the outputs of their sub-layers, and queries and keys of all heads together."""

from dataclasses import replace
from typing import Any

from transformer_core.checkpoints import rotary_options
from transformer_core.checkpoints.families import llama
from transformer_core.checkpoints.family import windows
from transformer_core.checkpoints.options import Options
from transformer_core.config import ModelConfig

BASE = 500_000.0  # of OLMo 3's RoPE, in all layers


def read(options: Options, **differences: Any) -> ModelConfig:
    """Return our configuration of an OLMo 2 (OLMo et al. 2025, sec. 2.1), given what differs in another version."""
    config = llama.read(
        options,
        attention_bias="all" if options.switch("attention_bias", False) else "none",
        tokens=(None, 50279, 1),
        **differences,
    )
    norms: dict[str, Any] = {"input_norm": False, "output_norm": True, "qk_norm": True, "qk_norm_scope": "joint"}
    return replace(config, layer_norm_eps=options.number("rms_norm_eps", 1e-5), **norms)


def read_olmo3(options: Options) -> ModelConfig:
    """Return our configuration of an OLMo 3, which has windows in most layers, and its library's class."""
    n_layers, width = options.n_layers("num_hidden_layers"), options.whole_or_null("sliding_window", 4096)
    window = windows(options, n_layers, width, usual=range(3, n_layers, 4))
    rotary = rotary_options.read_rotary_by_kind(options, window, usual_bases=(BASE, BASE), base_in_window="rope_theta")
    return read(options, window=window, rotary=rotary)


FAMILIES = (
    llama.family(model_type="olmo2", read=read),
    llama.family(model_type="olmo3", read=read_olmo3),
)
