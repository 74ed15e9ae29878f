"""What a model is made of: its parameters part by part, and the settings that shape it."""

import inspect
import re
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from transformer_core.config import ModelConfig
from transformer_core.errors import Message, mark
from transformer_core.model.transformer import assemble

PARTS: Mapping[str, str] = {  # by component of a parameter's name: the part it belongs to
    "embed": mark("token embedding"),
    "pos_embed": mark("positions"),
    "position_bias": mark("positions"),
    "segment_embed": mark("segment embedding"),
    "embedding_norm": mark("normalization"),
    "embedding_projection": mark("token embedding"),
    "self_attn": mark("self-attention"),
    "cross_attn": mark("cross-attention"),
    "mlp": mark("feed-forward"),
    "ln1": mark("normalization"),
    "ln_cross": mark("normalization"),
    "ln2": mark("normalization"),
    "ln_final": mark("normalization"),
    "unembed": mark("last layer"),
    "unembed_transform": mark("last layer"),
}
_ROTARY = ("rotary_base", "rotary_fraction", "rotary_scaling")
_BY_TURNS = ("rotary_low_freq_factor", "rotary_high_freq_factor", "rotary_original_len")
_BUCKETS = ("n_relative_buckets", "relative_max_distance")
_PRE_NORM = ("input_norm", "output_norm", "first_norm", "last_norm")
_FEED_FORWARD = ("activation", "gated", "feed_forward_bias")


class Setting(NamedTuple):
    """A configuration field, its displayed value, and its meaning."""

    name: str
    value: str | Message
    meaning: Message


def parameters_by_part(config: ModelConfig) -> dict[tuple[str, str], int]:
    """Return the number of parameters in each part of each stack; tied matrices are counted once.

    Args:
        config: of the model; no weights are needed.

    Returns:
        by (stack, part), in the order of the forward pass: "encoder", "decoder", or "both" for what they share, and ""
        for the last layer. The sum is the number of the model's parameters.
    """
    model = assemble(config)
    is_shared = config.tie_embeddings == "three_way"
    counts: dict[tuple[str, str], int] = {}
    for name, parameter in model.named_parameters():  # tied ones come once, under their first name
        stack, _, rest = name.partition(".") if name.startswith(("encoder.", "decoder.")) else ("", "", name)
        words = rest.split(".")
        part = PARTS[words[2] if words[0] == "blocks" else words[0]]
        key = ("both" if is_shared and words[0] == "embed" else stack, part)
        counts[key] = counts.get(key, 0) + parameter.numel()
    return counts


def parameters_of_parts(config: ModelConfig) -> dict[str, int]:
    """Return the number of parameters in each part, summed over all stacks."""
    counts: Counter[str] = Counter()
    for (_, part), n in parameters_by_part(config).items():
        counts[part] += n
    return dict(counts)


def settings(config: ModelConfig) -> list[Setting]:
    """Return the configuration fields that shape the model, in their order, without those that have no effect."""
    idle = _idle(config)
    notes = field_notes()
    values = config.to_dict()
    return [Setting(name, _written(value), Message(notes[name])) for name, value in values.items() if name not in idle]


def field_notes() -> dict[str, str]:
    """Return the English comment after each field of `ModelConfig`: its meaning, unit and source."""
    lines = inspect.getsource(ModelConfig).splitlines()
    notes = (re.match(r"    (\w+): .*?  # (.+)$", line) for line in lines)
    return {note[1]: note[2] for note in notes if note}


def _idle(config: ModelConfig) -> set[str]:
    """Return the fields that have no effect in this model because the part that they configure is absent."""
    idle: set[str] = set()
    if not config.has_rotary_positions:
        idle |= {*_ROTARY, "layers_without_rotation"}
    if config.rotary_scaling in ("none", "longrope"):
        idle |= {"rotary_scaling_factor"}
    if config.rotary_scaling not in ("llama3", "yarn"):
        idle |= {*_BY_TURNS}
    if config.rotary_scaling != "longrope":
        idle |= {"rotary_pair_factors"}
    if config.positions != "alibi":
        idle |= {"alibi_scale", "alibi_rounding"}
    if not config.layers_without_window or not config.has_rotary_positions:
        idle |= {"rotary_base_in_window"}
    idle |= {name for name in ("d_embed", "relative_bias", "src_vocab_size") if not getattr(config, name)}
    if not config.has_relative_buckets:
        idle |= {*_BUCKETS}
    if not config.d_ff:
        idle |= {*_FEED_FORWARD}
    if not config.qk_norm:
        idle |= {"qk_norm_scope"}
    idle |= {"final_norm"} if config.norm_position == "pre" else {*_PRE_NORM}
    if not config.input_norm:
        idle |= {"first_norm"}
    if not config.has_encoder:
        idle |= {"n_encoder_layers"}
    if not config.has_decoder:
        idle |= {"n_decoder_layers"}
    return idle


def _written(value: object) -> str | Message:
    """Return a value as displayed text."""
    if value is None:
        return Message("none")
    if isinstance(value, bool):
        return Message("yes") if value else Message("no")
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) if value else Message("none")
    return f"{value:,}" if isinstance(value, int) else str(value)
