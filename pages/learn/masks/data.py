"""The data of the Masks page: a text, the model that reads it, the chosen masks, and their effect."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headlight.analysis.masks.presets import N_PADDING, PRESETS, Preset, padded_sides, presets_of
from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.language import say
from pages.learn.masks import view_fields
from pages.shared import cache, readings
from pages.shared.models import ModelCard
from pages.shared.recipe import Expression, call, literal, named, value_of
from pages.shared.sources import Source
from pages.shared.view import state
from pages.shared.view.state import View
from transformer_core.cached_property import cached_property
from transformer_core.errors import mark

if TYPE_CHECKING:
    import numpy as np

    from headlight.analysis.masks.rules import MaskChoice
    from headlight.analysis.masks.run import MaskOutcome
    from headlight.analysis.masks.text import MaskText
    from transformer_core.model.transformer import Transformer
    from transformer_core.text.interface import Tokenizer

STORE = mark("masked runs")
MOST_TOKENS = 48  # per side, including padding
SIDES = {  # what queries and keys are, by architecture and side
    ("encoder_decoder", "source"): mark("the text"),
    ("encoder_decoder", "target"): mark("the decoder’s input"),
    ("decoder_only", "target"): mark("the text"),
    ("encoder_only", "source"): mark("the text"),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class MasksData:
    """A text and the chosen masks; all parts of the page draw from it."""

    card: ModelCard
    view: View
    source: Source
    preset: Preset
    n_padding: int
    alone_recipe: Expression  # the text without padding, as code
    text_recipe: Expression  # with padding, as code
    alone: "MaskText"
    text: "MaskText"

    @classmethod
    def current(cls, card: ModelCard) -> "MasksData":
        """Return the data of the page.

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
        if not preset.is_shifted:  # as long as its targets, which stand in its place
            alone = named("targeted", alone.targeted())
        text = _padded(source, card, alone, padded_sides(preset, view.attention, card.config), n_padding)
        alone_value, text_value = value_of((alone, text))
        sides = text_value.sides(view.attention)
        view_fields.fit((view.model, view.text, view.target, view.attention), *map(len, sides))
        return cls(
            card=card,
            view=view,
            source=source,
            preset=preset,
            n_padding=n_padding,
            alone_recipe=alone,
            text_recipe=text,
            alone=alone_value,
            text=text_value,
        )

    @property
    def words(self) -> view_fields.PresetWords:
        """The texts about the preset."""
        return view_fields.WORDS[self.preset.name]

    @property
    def size(self) -> int:
        """The size of the window, prefix or blocks; 1 if the preset has none."""
        return int(view_fields.SIZE.value or self.preset.size or 1)

    @property
    def is_own(self) -> bool:
        """Whether the masks and the input are the model's own."""
        return self.preset.name == "own" and not view_fields.EDITS.value

    @property
    def given(self) -> "MaskText":
        """The text as the model is given it under this preset."""
        return self.text if self.preset.is_shifted else self.text.without_padding().unshifted()

    @property
    def choice(self) -> "MaskChoice":
        """The chosen masks."""
        from headlight.analysis.masks.rules import MaskChoice

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

    @property
    def output_tokenizer(self) -> "Tokenizer":
        """The tokenizer of the output's side."""
        return self.loaded[1].target if self.card.config.has_decoder else self.loaded[1]

    @property
    def output_labels(self) -> "tuple[str, ...]":
        """The labels of the output's side, without padding."""
        return self.alone.labels[self.alone.output_side]

    @property
    def choice_recipe(self) -> Expression:
        """The chosen masks, as code."""
        return named("choice", literal(self.choice))

    @cached_property
    def outcome_recipe(self) -> Expression:
        """The model run with its own masks and with the chosen ones, as code."""
        from headlight.analysis.masks.run import run_masked

        head = {"layer": self.view.layer, "head": self.view.head}
        result = call(run_masked, *self.source.recipe(), self.text_recipe, self.choice_recipe, **head)
        return named("outcome", _kept(self.source, result))

    @cached_property
    def outcome(self) -> "MaskOutcome":
        """The model run with its own masks and with the chosen ones."""
        return value_of(self.outcome_recipe)

    def written(self, choice: "Expression | MaskChoice") -> Expression:
        """Return the free-running output of the model under some masks, as code."""
        from headlight.analysis.masks.run import write_masked

        return _kept(self.source, call(write_masked, *self.source.recipe(), self.text_recipe, choice))

    def preset_masks(self) -> "Mapping[str, np.ndarray]":
        """Return the mask of the chosen attention under each preset."""
        from headlight.analysis.masks.run import preset_masks

        alone = _alone(self.source, self.view, self.card, N_PADDING)
        layer = self.view.layer if self.card.config.layers_without_window else 0  # elsewhere all layers have the same
        masks = call(preset_masks, *self.source.recipe(), alone, self.view.attention, layer=layer)
        return value_of(_kept(self.source, masks))

    def own_masks(self) -> Expression:
        """Return the mask of each attention under the chosen masks, with padding after every side, as code."""
        from headlight.analysis.masks.run import masks_of

        n_padding = self.n_padding or N_PADDING
        alone = _alone(self.source, self.view, self.card, n_padding)
        text = _padded(self.source, self.card, alone, tuple(value_of(alone).inputs), n_padding)
        result = call(masks_of, self.source.recipe()[0], text, self.choice_recipe, layer=self.view.layer)
        return named("masks", _kept(self.source, result))

    def leak(self, name: str, replacements: "tuple[int, ...]", choice: "MaskChoice | None" = None) -> Expression:
        """Return the effect of changing each token, as code.

        Args:
            name: variable name in the code.
            replacements: the new token at each position.
            choice: the masks; None: the model's own.
        """
        from headlight.analysis.masks.leak import leak

        model, text, edits = self.source.recipe()[0], self.alone_recipe, list[Expression]()
        if choice is not None:
            if not PRESETS[choice.preset].is_shifted:
                text = named("unshifted", text.unshifted())
            chosen = named("choice", literal(choice))
            edits = [named("edits", chosen.interventions(model.config, n_source=None, n_target=None))]
        return named(name, _kept(self.source, call(leak, model, text.model_inputs, replacements, *edits)))

    def changed(self, place: int, token: int) -> Expression:
        """Return the predictions of the target tokens, before and after one token is changed, as code."""
        from headlight.analysis.masks.leak import changed_token

        result = call(changed_token, *self.source.recipe(), self.alone_recipe, place, token)
        return named("changed", _kept(self.source, result))

    def dropped(self, probability: float, seed: int) -> Expression:
        """Return the effect of dropout on all patterns on the chosen head and on the output, as code."""
        from headlight.analysis.masks.dropout import run_dropout

        options = {**self.view.head_name._asdict(), "probability": probability, "seed": seed}
        result = call(run_dropout, *self.source.recipe(), self.alone_recipe, **options)
        return named("dropped", _kept(self.source, result))

    def side(self, of: str) -> str:
        """Return the name of a side: "source" or "target"."""
        return say(SIDES[self.card.config.architecture, of])

    def file_name(self, what: str) -> str:
        """Return the name of a saved file, without its ending."""
        return f"{self.card.name}-{what}-{self.preset.name}"


def _n_padding(card: ModelCard, preset: Preset) -> int:
    if card.config.pad_id is None or not preset.is_shifted:
        return 0
    usual = N_PADDING if preset.needs_padding else 0
    return int(usual if view_fields.PADDING.value is None else view_fields.PADDING.value)


def _padded(source: Source, card: ModelCard, alone: Expression, sides: tuple[str, ...], n_padding: int) -> Expression:
    pad_id = card.config.pad_id
    if pad_id is None or not n_padding:
        return alone
    return named("padded", alone.padded(source.recipe()[1], pad_id, sides, n_padding))


def _alone(source: Source, view: View, card: ModelCard, n_padding: int) -> Expression:
    """Return the text without padding, cut to leave room for `n_padding` tokens of padding, as code."""
    from headlight.analysis.masks.text import mask_text

    options: dict[str, Any] = {} if view.target is None else {"target": view.target}
    options["max_tokens"] = min(MOST_TOKENS, card.config.max_seq_len) - n_padding
    options["max_new_tokens"] = readings.max_new_tokens(source)
    return named("text", _kept(source, call(mask_text, *source.recipe(), view.text, **options)))


def _kept(source: Source, value: Expression) -> Expression:
    """Return the expression, computed on the model's device and cached for all sessions."""
    return cache.kept(STORE, source.forward(value))


def ends(attention: str) -> tuple[str, str]:
    """Return where queries and keys of an attention come from, "source" or "target"."""
    kind = ATTENTIONS[attention]
    return kind.queries_from, kind.keys_from
