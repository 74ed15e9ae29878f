"""The texts about the presets of masks, by name. English, marked."""

from collections.abc import Mapping
from dataclasses import dataclass

from transformer_core.errors import mark


@dataclass(frozen=True, kw_only=True)
class PresetWords:
    """The texts about one preset."""

    title: str
    what: str  # one sentence: its purpose; of a mistake, what is done wrongly
    sees: str = ""  # of a mistake: its visible effect
    size: str = ""  # the name of its size, if it has one


WORDS: Mapping[str, PresetWords] = {
    "own": PresetWords(
        title=mark("The model’s own"),
        what=mark("The mask that this attention was trained with."),
    ),
    "padding": PresetWords(
        title=mark("Padding"),
        what=mark("Texts in a batch are padded to the same length; padding is never attended to."),
    ),
    "look_ahead": PresetWords(
        title=mark("Causal"),
        what=mark("Each position sees itself and earlier positions, never the token it has to predict."),
    ),
    "padding_look_ahead": PresetWords(
        title=mark("Padding × causal"),
        what=mark("A decoder in training: a key is allowed where both masks allow it (their product)."),
    ),
    "window": PresetWords(
        title=mark("Sliding window"),
        what=mark(
            "Each position sees only nearby positions, so the cost grows linearly with the length, not quadratically."
        ),
        size=mark("Window size"),
    ),
    "prefix": PresetWords(
        title=mark("Prefix"),
        what=mark("All positions see the prefix, as in an encoder; after it, attention is causal."),
        size=mark("Prefix length"),
    ),
    "block": PresetWords(
        title=mark("Blocks"),
        what=mark("Several texts packed into one sequence; each attends only to its own block."),
        size=mark("Block length"),
    ),
    "none": PresetWords(
        title=mark("None"),
        what=mark(
            "Everything is visible. Correct for an encoder without padding; a decoder sees what it has to predict."
        ),
    ),
    "flipped": PresetWords(
        title=mark("True and False flipped"),
        what=mark(
            "Here True means “may attend”, as in torch’s scaled_dot_product_attention; in torch’s MultiheadAttention "
            "True means “masked”. Mixing them up inverts the mask."
        ),
        sees=mark("each position sees only what was masked in training, or nothing, and then its row is all zeros."),
    ),
    "cross": PresetWords(
        title=mark("Causal on cross-attention"),
        what=mark("The causal mask is applied to cross-attention, where it does not belong."),
        sees=mark(
            "the first target tokens see only the beginning of the source, while self-attention sees the future, "
            "which in training is the answer."
        ),
    ),
    "forgotten": PresetWords(
        title=mark("Padding not masked"),
        what=mark("The text is padded, but the padding is not masked."),
        sees=mark(
            "padding takes attention away from real tokens, so the output depends on the batch. Nothing changes only "
            "where the causal mask hides the padding anyway, after the text."
        ),
    ),
    "unshifted": PresetWords(
        title=mark("Targets not shifted"),
        what=mark(
            "The mask is correct, but the decoder’s input is the target itself, not shifted right: row i finds its "
            "answer at key i."
        ),
        sees=mark(
            "a model trained this way would learn to copy, and its loss would fall almost to 0. This model was "
            "trained with shifted targets, so its predictions are one token ahead of the targets."
        ),
    ),
}
