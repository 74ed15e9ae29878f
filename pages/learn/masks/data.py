"""What the page Masks shows at one time: a text that a model reads, the chosen masks, and what becomes of it."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from pages.learn.masks import cache, view_fields
from pages.shared.models import ModelCard
from pages.shared.sources import Source
from pages.shared.view import state
from pages.shared.view.state import View
from transformer_core.analysis import ATTENTIONS
from transformer_core.analysis.masks.presets import (
    N_PADDING,
    PRESETS,
    Preset,
    padded_sides,
    presets_of,
)
from transformer_core.errors import mark
from transformer_core.language import say

if TYPE_CHECKING:
    import numpy as np

    from transformer_core.analysis.masks.dropout import DropoutOutcome
    from transformer_core.analysis.masks.inference import Steps
    from transformer_core.analysis.masks.leak import Leak
    from transformer_core.analysis.masks.rules import MaskChoice
    from transformer_core.analysis.masks.run import MaskOutcome
    from transformer_core.analysis.masks.text import MaskText
    from transformer_core.model.transformer import Transformer
    from transformer_core.text.interface import Tokenizer

MOST_TOKENS = 48  # on each side, padding included
SIDES = {  # what queries and keys are, by architecture and side
    ("encoder_decoder", "source"): mark("the text"),
    ("encoder_decoder", "target"): mark("the decoder’s input"),
    ("decoder_only", "target"): mark("the text"),
    ("encoder_only", "source"): mark("the text"),
}
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, eq=False)
class MasksData:
    """A text and the chosen masks; all parts of the page draw from it."""

    card: ModelCard
    view: View
    source: Source
    preset: Preset
    n_padding: int
    alone: "MaskText"  # without padding
    text: "MaskText"  # with it

    @classmethod
    def current(cls, card: ModelCard) -> "MasksData":
        """Return what is to be seen now.

        Raises:
            HeadlightError: the model cannot be loaded, or the text cannot be read by it.
        """
        state.fit(card)
        if view_fields.PRESET.value not in presets_of(card.config):
            view_fields.PRESET.set(view_fields.PRESET.usual)
        view, preset = state.current(), PRESETS[view_fields.PRESET.value]
        source = view.source(card)
        n_padding = _n_padding(card, preset)
        alone = _alone(source, view, card, n_padding)
        if not preset.is_shifted:
            alone = alone.targeted()  # as long as its targets, which stand in its place
        model, tokenizer = source.load()
        sides = padded_sides(preset, view.attention, card.config)
        text = alone.padded(tokenizer, model.config.pad_id, sides, n_padding)
        view_fields.fit((view.model, view.text, view.target, view.attention), *map(len, text.sides(view.attention)))
        return cls(card=card, view=view, source=source, preset=preset, n_padding=n_padding, alone=alone, text=text)

    @property
    def size(self) -> int:
        """Of the window, the prefix or the blocks; 1 where there is none."""
        return int(view_fields.SIZE.value or self.preset.size or 1)

    @property
    def is_own(self) -> bool:
        """Whether the masks are the model's own, and so is what it is given."""
        return self.preset.name == "own" and not view_fields.EDITS.value

    @property
    def given(self) -> "MaskText":
        """The text as the model is given it under this preset."""
        return self.text if self.preset.is_shifted else self.text.without_padding().unshifted()

    @property
    def choice(self) -> "MaskChoice":
        """The masks that were chosen."""
        from transformer_core.analysis.masks.rules import MaskChoice

        return MaskChoice(
            preset=self.preset.name,
            size=self.size,
            attention=self.view.attention,
            layer=self.view.layer if view_fields.LAYERS.value == "one" else None,
            turned=view_fields.EDITS.value,
        )

    @cached_property
    def loaded(self) -> "tuple[Transformer, Tokenizer]":
        """The model and its tokenizer."""
        return self.source.load()

    @cached_property
    def outcome(self) -> "MaskOutcome":
        """The model run with its own masks and with the chosen ones."""
        from transformer_core.analysis.masks.run import run_masked

        view, choice = self.view, self.choice
        return self.kept(
            ("run", self.n_padding, choice, view.layer, view.head),
            lambda: run_masked(*self.loaded, self.text, choice, layer=view.layer, head=view.head),
        )

    def written(self, choice: "MaskChoice") -> str:
        """Return what the model writes by itself under some masks."""
        from transformer_core.analysis.masks.run import write_masked

        key = ("written", self.n_padding, choice, padded_sides(self.preset, self.view.attention, self.card.config))
        return self.kept(key, lambda: write_masked(*self.loaded, self.text, choice))

    def preset_masks(self) -> "Mapping[str, np.ndarray]":
        """Return the mask that each preset puts on the chosen attention."""
        from transformer_core.analysis.masks.run import preset_masks

        attention = self.view.attention
        alone = _alone(self.source, self.view, self.card, N_PADDING)
        return self.kept(("presets", attention), lambda: preset_masks(*self.loaded, alone, attention))

    def own_masks(self) -> "Mapping[str, np.ndarray]":
        """Return the mask of each attention under the chosen ones, with padding behind all sides."""
        from transformer_core.analysis.masks.run import masks_of

        model, tokenizer = self.loaded
        choice, pad_id = self.choice, self.card.config.pad_id
        n_padding = self.n_padding or N_PADDING
        alone = _alone(self.source, self.view, self.card, n_padding)
        text = alone.padded(tokenizer, pad_id, tuple(alone.inputs), n_padding)
        return self.kept(("which", n_padding, choice), lambda: masks_of(model, text, choice, layer=self.view.layer))

    def leak(self, replacements: "tuple[int, ...]", choice: "MaskChoice | None" = None) -> "Leak":
        """Return what moves where each token is changed, under some masks; None: the model's own."""
        from transformer_core.analysis.masks.leak import leak

        model, _ = self.loaded
        text = self.alone
        if choice is not None and not PRESETS[choice.preset].is_shifted:
            text = text.unshifted()
        edits = {} if choice is None else choice.interventions(model.config, n_source=None, n_target=None)
        key = ("leak", self.n_padding, replacements, choice)
        return self.kept(key, lambda: leak(model, tuple(text.inputs.values()), replacements, edits))

    def steps(self) -> "Steps":
        """Return what the decoder says in one pass, and step by step."""
        from transformer_core.analysis.masks.inference import steps

        model, _ = self.loaded
        return self.kept(
            ("steps", self.n_padding, self.preset.is_shifted), lambda: steps(model, tuple(self.alone.inputs.values()))
        )

    def dropped(self, probability: float, seed: int) -> "DropoutOutcome":
        """Return what dropout on all patterns does to the chosen head and to the output."""
        from transformer_core.analysis.masks.dropout import run_dropout

        attention, layer, head = self.view.attention, self.view.layer, self.view.head
        key = ("dropout", self.n_padding, self.preset.is_shifted, attention, layer, head, probability, seed)

        def make() -> "DropoutOutcome":
            model, tokenizer = self.loaded
            return run_dropout(
                model,
                tokenizer,
                self.alone,
                attention=attention,
                layer=layer,
                head=head,
                probability=probability,
                seed=seed,
            )

        return self.kept(key, make)

    def four_ways(self) -> Mapping[tuple[bool, bool], str]:
        """Return what the decoder writes by (is masked, has a cache)."""
        from transformer_core.analysis.masks.inference import write_four_ways

        model, tokenizer = self.loaded
        text = self.alone
        given = text.inputs.get("source") or text.inputs["target"][: text.n_given]
        n_begun = 1 if "source" in text.inputs else len(given)
        n_new = min(max(1, len(text.expected) + 1 - n_begun), model.config.max_seq_len - n_begun)

        def write() -> dict[tuple[bool, bool], str]:
            if not n_new:  # the text takes all positions
                return dict.fromkeys(((True, True), (True, False), (False, True), (False, False)), "")
            written = write_four_ways(model, given, n_new=n_new)
            return {way: tokenizer.target.decode(tokens) for way, tokens in written.items()}

        return self.kept(("four ways", self.n_padding), write)

    def kept(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what was made of this text before, or make it."""
        return cache.of_text(self.source, self.view, key, make)

    def side(self, of: str) -> str:
        """Return what a side is called: "source" or "target"."""
        return say(SIDES[self.card.config.architecture, of])

    def file_name(self, what: str) -> str:
        """Return the name of a file that is taken away."""
        return f"{self.card.name}-{what}-{self.preset.name}"


def _n_padding(card: ModelCard, preset: Preset) -> int:
    """Return how many tokens of padding stand behind the text."""
    if card.config.pad_id is None or not preset.is_shifted:
        return 0
    usual = N_PADDING if preset.needs_padding else 0
    return int(usual if view_fields.PADDING.value is None else view_fields.PADDING.value)


def _alone(source: Source, view: View, card: ModelCard, n_padding: int) -> "MaskText":
    """Return the text without padding, as far as there is room for it and for so much padding."""
    return cache.text(source, view, max_tokens=min(MOST_TOKENS, card.config.max_seq_len) - n_padding)


def ends(attention: str) -> tuple[str, str]:
    """Return where queries and keys of an attention come from, "source" or "target"."""
    kind = ATTENTIONS[attention]
    return kind.queries_from, kind.keys_from
