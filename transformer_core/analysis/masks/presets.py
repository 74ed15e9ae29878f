"""Masks by name: the usual ones, and the well-known mistakes; what each is for, and what goes wrong."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from transformer_core.analysis.trace.attentions import ATTENTIONS, attentions_of
from transformer_core.config import ModelConfig
from transformer_core.errors import mark

Kind = Literal["own", "padding", "look_ahead", "padding_look_ahead", "window", "prefix", "block", "none", "flipped"]
"""How the mask of one attention is made; `rules.MaskRule` says how."""

N_PADDING = 3  # tokens of padding that a preset about padding shows
MOST_PADDING = 8


@dataclass(frozen=True, kw_only=True)
class Preset:
    """A choice of masks: for the attention that is looked at, or for all that a mistake concerns."""

    name: str  # in addresses
    title: str
    what: str  # one sentence: what it is for; of a mistake, what is done wrongly
    sees: str = ""  # of a mistake: what one sees go wrong
    kind: Kind = "own"  # of the attention that is looked at
    others: Mapping[str, Kind] = field(default_factory=dict)  # of attentions by name, whichever is looked at
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
    Preset(
        name="own", title=mark("The model’s own"), what=mark("What this attention may see as the model was trained.")
    ),
    Preset(
        name="padding",
        title=mark("Padding"),
        what=mark("Texts of one batch are padded to one length; padding is never attended to."),
        kind="padding",
        needs_padding=True,
    ),
    Preset(
        name="look_ahead",
        title=mark("Look-ahead"),
        what=mark("Each position sees itself and what came before it: nobody sees the token that it has to say."),
        kind="look_ahead",
    ),
    Preset(
        name="padding_look_ahead",
        title=mark("Padding × look-ahead"),
        what=mark("A decoder in training: a key is allowed where both masks allow it, their product."),
        kind="padding_look_ahead",
        needs_padding=True,
    ),
    Preset(
        name="window",
        title=mark("Sliding window"),
        what=mark(
            "Each position sees only its neighbours, so that the cost grows with the length, not with its square."
        ),
        kind="window",
        size=4,
        size_name=mark("Width of the window"),
    ),
    Preset(
        name="prefix",
        title=mark("Prefix"),
        what=mark("All may see the first positions, as in an encoder; behind them each sees what came before it."),
        kind="prefix",
        size=4,
        size_name=mark("Length of the prefix"),
    ),
    Preset(
        name="block",
        title=mark("Blocks"),
        what=mark("Several texts packed into one sequence: none may look into another’s block."),
        kind="block",
        size=4,
        size_name=mark("Length of a block"),
    ),
    Preset(
        name="none",
        title=mark("None"),
        what=mark("All may see all. Right for an encoder without padding; a decoder now sees what it has to say."),
        kind="none",
    ),
    Preset(
        name="flipped",
        title=mark("True and False flipped"),
        what=mark(
            "Here True means “may look”, as in torch’s scaled_dot_product_attention; in torch’s MultiheadAttention it "
            "means “may not”. Mixing them up inverts the mask."
        ),
        sees=mark(
            "each position sees only what it never saw in training, or nothing at all, and then its row is zeros."
        ),
        kind="flipped",
    ),
    Preset(
        name="cross",
        title=mark("Look-ahead on cross-attention"),
        what=mark("The look-ahead mask sits on the decoder’s second attention, where it does not belong."),
        sees=mark(
            "the first words know only the beginning of the source, while the self-attention sees the future: in "
            "training that is the answer."
        ),
        others={"decoder": "padding", "cross": "padding_look_ahead"},
        seen_at=("cross",),
    ),
    Preset(
        name="forgotten",
        title=mark("Padding forgotten"),
        what=mark("The text was filled up, and nobody forbade to look at the filling."),
        sees=mark(
            "padding takes weight from the real tokens, so that a text is answered differently in a batch than alone; "
            "only where look-ahead hides it anyway, behind the text, nothing changes."
        ),
        others={"encoder": "none", "cross": "none", "decoder": "look_ahead"},
        seen_at=("cross", "encoder"),
        needs_padding=True,
    ),
    Preset(
        name="unshifted",
        title=mark("Targets not shifted"),
        what=mark(
            "The mask is right, but the decoder is given the very tokens that it has to say: row i finds its answer at "
            "key i."
        ),
        sees=mark(
            "a training would learn to copy, and its loss would fall to almost 0. This model learned from shifted "
            "targets, and so it is one token ahead of what it is asked."
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

    A mistake with padding is about the text that is read, whichever attention is looked at.
    """
    if preset.needs_padding and preset.others:
        return ("source",) if config.has_encoder else ("target",)
    return (ATTENTIONS[attention].keys_from,)
