"""The head that a view shows: what a person or a link chooses, or the nearest one that the model has."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headlight.analysis.heads.measures import HeadName
from headlight.analysis.trace.attentions import ATTENTIONS, attentions_of
from headlight.language import say, say_number
from pages.shared.view.fields import Control
from pages.shared.view.shared_value import SharedValue
from transformer_core.config import ModelConfig
from transformer_core.errors import mark

NO_LAYER = mark("This model has no layer “{wanted}”, only 0 to {last}; layer {nearest} is shown instead.")
NO_HEAD = mark("This model has no head “{wanted}”, only 0 to {last}; head {nearest} is shown instead.")


@dataclass(frozen=True)
class HeadChoice:
    """The choices that together name a head."""

    attention: Control
    layer: Control
    head: Control

    @property
    def value(self) -> HeadName:
        """The chosen head."""
        return HeadName(self.attention.value, self.layer.value, self.head.value)

    def set(self, attention: Any, layer: Any, head: Any) -> None:
        """Choose a head; values that do not name a head change nothing."""
        are_indices = all(type(index) is int and index >= 0 for index in (layer, head))
        if are_indices and isinstance(attention, str) and attention in ATTENTIONS:
            self.attention.set(attention)
            self.layer.set(layer)
            self.head.set(head)

    def take(self, key: str) -> None:
        """Choose the head clicked in the overview of this key; the browser's value is checked like any input."""
        chosen = SharedValue(key, "chosen").heard()
        if isinstance(chosen, Mapping):
            self.set(*map(chosen.get, ("attention", "layer", "head")))

    def fit(self, config: ModelConfig) -> list[str]:
        """Keep the head within what a model has; return a sentence for each part of its name that it does not have."""
        attention = self.attention.value or [*attentions_of(config)][-1]
        head, notes = nearest_head(config, self.value, attention, str(self.layer.value), str(self.head.value))
        self.set(*head)
        return notes


def nearest_head(
    config: ModelConfig, usual: HeadName, attention: str | None, layer: str | None, head: str | None
) -> tuple[HeadName, list[str]]:
    """Return the head that a link names, and a sentence for each part of its name that the model does not have.

    Args:
        config: of the model.
        usual: the head that is meant where the link names none.
        attention: as the link says it; None: it does not. Likewise for:
        layer: its number.
        head: its number.
    """
    chosen, attention_notes = _attention(usual.attention if attention is None else attention, config)
    n_layers = ATTENTIONS[chosen].n_layers(config)
    if chosen != usual.attention:
        usual = HeadName(chosen, n_layers - 1, 0)
    at_layer, layer_notes = _index(layer, n_layers, default=usual.layer, missing=NO_LAYER)
    at_head, head_notes = _index(head, config.n_heads, default=usual.head, missing=NO_HEAD)
    return HeadName(chosen, at_layer, at_head), [*attention_notes, *layer_notes, *head_notes]


def _attention(wanted: str, config: ModelConfig) -> tuple[str, list[str]]:
    """Return the wanted attention, or the last one with a note if the model lacks it."""
    names = [*attentions_of(config)]
    if wanted in names:
        return wanted, []
    if wanted in ATTENTIONS:
        missing, shown = (say(ATTENTIONS[name].inline) for name in (wanted, names[-1]))
        return names[-1], [
            say(
                "This model is {kind} and has no {missing}; its {shown} is shown.",
                kind=say(config.architecture.replace("_", "-")),
                missing=missing,
                shown=shown,
            )
        ]
    return names[-1], [
        say_number(
            len(names),
            "There is no attention “{wanted}”; there is {names}.",
            "There is no attention “{wanted}”; there are {names}.",
            wanted=wanted[:60],
            names=", ".join(names),
        )
    ]


def _index(wanted: str | None, size: int, *, default: int, missing: str) -> tuple[int, list[str]]:
    """Return the wanted index clamped to the model's range, and the note `missing` if it had to be clamped."""
    if wanted is None:
        return default, []
    try:
        index = int(wanted)
    except ValueError:
        index = -1
    if 0 <= index < size:
        return index, []
    nearest = min(max(index, 0), size - 1)
    return nearest, [say(missing, wanted=wanted[:20], last=size - 1, nearest=nearest)]
