"""Masks by name: the usual ones, and the well-known mistakes; what each is for, and what goes wrong."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from headlight.analysis.trace.attentions import ATTENTIONS, attentions_of
from transformer_core.config import ModelConfig
from transformer_core.errors import mark

Kind = Literal["own", "padding", "look_ahead", "padding_look_ahead", "window", "prefix", "block", "none", "flipped"]
"""How the mask of one attention is made; `rules.MaskRule` says how."""

N_PADDING = 3  # tokens of padding that a preset about padding shows
MOST_PADDING = 8


@dataclass(frozen=True, kw_only=True)
class Preset:
    """A choice of masks: for the selected attention, or for all that a mistake concerns."""

    name: str  # in addresses
    title: str
    what: str  # one sentence: what it is for; of a mistake, what is done wrongly
    sees: str = ""  # of a mistake: what one sees go wrong
    kind: Kind = "own"  # of the selected attention
    others: Mapping[str, Kind] = field(default_factory=dict)  # of attentions by name, regardless of the selection
    seen_at: tuple[str, ...] = ()  # the attentions whose mask shows it, the one that shows it best first; (): all
    size: int | None = None  # what the size is usually; None: it has none
    size_name: str = ""
    needs_padding: bool = False  # to be seen at all
    is_shifted: bool = True  # False: the decoder is given the tokens that it has to say

    @property
    def is_mistake(self) -> bool:
        """Whether it is one of the well-known mistakes."""
        return bool(self.sees)

    def kind_at(self, attention: str, chosen: str) -> Kind:
        """Return how the mask of an attention is made, while one of them is chosen."""
        if self.others:
            return self.others.get(attention, "own")
        return self.kind if attention == chosen else "own"


_ALL = (
    Preset(name="own", title=mark("The model’s own"), what=mark("The mask that this attention was trained with.")),
    Preset(
        name="padding",
        title=mark("Padding"),
        what=mark("Texts in a batch are padded to the same length; padding is never attended to."),
        kind="padding",
        needs_padding=True,
    ),
    Preset(
        name="look_ahead",
        title=mark("Causal"),
        what=mark("Each position sees itself and earlier positions, never the token it has to predict."),
        kind="look_ahead",
    ),
    Preset(
        name="padding_look_ahead",
        title=mark("Padding × causal"),
        what=mark("A decoder in training: a key is allowed where both masks allow it (their product)."),
        kind="padding_look_ahead",
        needs_padding=True,
    ),
    Preset(
        name="window",
        title=mark("Sliding window"),
        what=mark(
            "Each position sees only nearby positions, so the cost grows linearly with the length, not quadratically."
        ),
        kind="window",
        size=4,
        size_name=mark("Window size"),
    ),
    Preset(
        name="prefix",
        title=mark("Prefix"),
        what=mark("All positions see the prefix, as in an encoder; after it, attention is causal."),
        kind="prefix",
        size=4,
        size_name=mark("Prefix length"),
    ),
    Preset(
        name="block",
        title=mark("Blocks"),
        what=mark("Several texts packed into one sequence; each attends only to its own block."),
        kind="block",
        size=4,
        size_name=mark("Block length"),
    ),
    Preset(
        name="none",
        title=mark("None"),
        what=mark(
            "Everything is visible. Correct for an encoder without padding; a decoder sees what it has to predict."
        ),
        kind="none",
    ),
    Preset(
        name="flipped",
        title=mark("True and False flipped"),
        what=mark(
            "Here True means “may attend”, as in torch’s scaled_dot_product_attention; in torch’s MultiheadAttention "
            "True means “masked”. Mixing them up inverts the mask."
        ),
        sees=mark("each position sees only what was masked in training, or nothing, and then its row is all zeros."),
        kind="flipped",
    ),
    Preset(
        name="cross",
        title=mark("Causal on cross-attention"),
        what=mark("The causal mask is applied to cross-attention, where it does not belong."),
        sees=mark(
            "the first target tokens see only the beginning of the source, while self-attention sees the future, "
            "which in training is the answer."
        ),
        others={"decoder": "padding", "cross": "padding_look_ahead"},
        seen_at=("cross",),
    ),
    Preset(
        name="forgotten",
        title=mark("Padding not masked"),
        what=mark("The text is padded, but the padding is not masked."),
        sees=mark(
            "padding takes attention away from real tokens, so the output depends on the batch. Nothing changes only "
            "where the causal mask hides the padding anyway, after the text."
        ),
        others={"encoder": "none", "cross": "none", "decoder": "look_ahead"},
        seen_at=("cross", "encoder"),
        needs_padding=True,
    ),
    Preset(
        name="unshifted",
        title=mark("Targets not shifted"),
        what=mark(
            "The mask is correct, but the decoder’s input is the target itself, not shifted right: row i finds its "
            "answer at key i."
        ),
        sees=mark(
            "a model trained this way would learn to copy, and its loss would fall almost to 0. This model was "
            "trained with shifted targets, so its predictions are one token ahead of the targets."
        ),
        is_shifted=False,
    ),
)
PRESETS: Mapping[str, Preset] = {preset.name: preset for preset in _ALL}


def presets_of(config: ModelConfig) -> Mapping[str, Preset]:
    """Return the presets that say something about a model: those of its attentions, and of padding if it has some."""
    attentions = attentions_of(config)
    return {
        name: preset
        for name, preset in PRESETS.items()
        if (name != "cross" or "cross" in attentions)
        and (preset.is_shifted or config.has_decoder)
        and (config.pad_id is not None or not preset.needs_padding)
    }


def attention_for(preset: Preset, chosen: str, config: ModelConfig) -> str:
    """Return the attention to look at: the chosen one, unless it shows nothing of the preset and another one does."""
    better = [name for name in preset.seen_at if name in attentions_of(config)]
    return better[0] if better and chosen not in better else chosen


def padded_sides(preset: Preset, attention: str, config: ModelConfig) -> tuple[str, ...]:
    """Return which sides of a text are filled up, "source" or "target": where the keys come from.

    A mistake with padding is about the text that is read, regardless of the selected attention.
    """
    if preset.needs_padding and preset.others:
        return ("source",) if config.has_encoder else ("target",)
    return (ATTENTIONS[attention].keys_from,)
