"""Masks by name: the usual ones, and the well-known mistakes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from headlight.analysis.trace.attentions import ATTENTIONS, attentions_of
from transformer_core.config import ModelConfig

MaskKind = Literal["own", "padding", "look_ahead", "padding_look_ahead", "window", "prefix", "block", "none", "flipped"]
"""The rule for the mask of one attention; `rules.MaskRule` implements it."""

N_PADDING = 3  # padding tokens that presets about padding add
MOST_PADDING = 8


@dataclass(frozen=True, kw_only=True)
class Preset:
    """A choice of masks: for the selected attention, or for all that a mistake concerns."""

    name: str  # in addresses
    kind: MaskKind = "own"  # of the selected attention
    others: Mapping[str, MaskKind] = field(default_factory=dict)  # of attentions by name, regardless of the selection
    seen_at: tuple[str, ...] = ()  # the attentions whose mask shows it, best first; (): all
    size: int | None = None  # default size; None: the preset has no size
    needs_padding: bool = False  # the preset has no effect without padding
    is_shifted: bool = True  # False: each decoder position reads its own target
    is_mistake: bool = False  # one of the well-known mistakes


_ALL = (
    Preset(name="own"),
    Preset(name="padding", kind="padding", needs_padding=True),
    Preset(name="look_ahead", kind="look_ahead"),
    Preset(name="padding_look_ahead", kind="padding_look_ahead", needs_padding=True),
    Preset(name="window", kind="window", size=4),
    Preset(name="prefix", kind="prefix", size=4),
    Preset(name="block", kind="block", size=4),
    Preset(name="none", kind="none"),
    Preset(name="flipped", kind="flipped", is_mistake=True),
    Preset(
        name="cross", others={"decoder": "padding", "cross": "padding_look_ahead"}, seen_at=("cross",), is_mistake=True
    ),
    Preset(
        name="forgotten",
        others={"encoder": "none", "cross": "none", "decoder": "look_ahead"},
        seen_at=("cross", "encoder"),
        needs_padding=True,
        is_mistake=True,
    ),
    Preset(name="unshifted", is_shifted=False, is_mistake=True),
)
PRESETS: Mapping[str, Preset] = {preset.name: preset for preset in _ALL}


def presets_of(config: ModelConfig) -> Mapping[str, Preset]:
    """Return the presets that apply to a model: those of its attentions, and of padding if it has a padding token.

    Padding after the text of a decoder alone need not be masked: the causal mask hides it anyway.
    """
    attentions = attentions_of(config)
    return {
        name: preset
        for name, preset in PRESETS.items()
        if (name != "cross" or "cross" in attentions)
        and (name != "forgotten" or config.has_encoder)
        and (preset.is_shifted or config.has_decoder)
        and (config.pad_id is not None or not preset.needs_padding)
    }


def attention_for(preset: Preset, chosen: str, config: ModelConfig) -> str:
    """Return the attention to show: the chosen one, unless only another one shows the preset."""
    better = [name for name in preset.seen_at if name in attentions_of(config)]
    return better[0] if better and chosen not in better else chosen


def padded_sides(preset: Preset, attention: str, config: ModelConfig) -> tuple[str, ...]:
    """Return which sides of a text get padding, "source" or "target": the side of the keys.

    Mistakes with padding always pad the side that the model reads, regardless of the selected attention.
    """
    if preset.needs_padding and preset.others:
        return ("source",) if config.has_encoder else ("target",)
    return (ATTENTIONS[attention].keys_from,)
