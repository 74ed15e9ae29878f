"""Measures of a head: a few numbers that say where it attends, each share of attention with its chance level.

The chance level is the share that the same weights get on the same texts with their tokens shuffled.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from headlight.analysis.trace.attentions import ATTENTIONS, attentions_of
from transformer_core.config import ModelConfig
from transformer_core.errors import Message

ENTROPIES = ("entropy", "relative_entropy")  # the fields of `HeadMeasures` that are plain numbers
SHARES = ("diagonality", "previous", "induction", "aligned")  # those that are a `Share`
_NOTABLE_SHARE, _NOTABLE_SHARE_NEAR, _NOTABLE_EFFECT = 0.4, 0.6, 0.04  # of a `HeadScore`


class HeadName(NamedTuple):
    """The attention, layer and number of a head."""

    attention: str  # its name in ATTENTIONS
    layer: int
    head: int

    def in_words(self) -> Message:
        """Return the name of the head as shown on the screen."""
        attention = Message(ATTENTIONS[self.attention].title)
        return Message("{attention} L{layer}.H{head}", attention=attention, layer=self.layer, head=self.head)


def heads_of(config: ModelConfig) -> tuple[HeadName, ...]:
    """Return all heads of a model, attention by attention."""
    return tuple(
        HeadName(name, layer, head)
        for name, attention in attentions_of(config).items()
        for layer in range(attention.n_layers(config))
        for head in range(config.n_heads)
    )


def by_layer(heads: Iterable[tuple[str, int, int]]) -> dict[tuple[str, int], tuple[int, ...]]:
    """Return the heads of each attention and layer, in the given order."""
    layers: dict[tuple[str, int], tuple[int, ...]] = {}
    for attention, layer, head in heads:
        layers[attention, layer] = (*layers.get((attention, layer), ()), head)
    return layers


@dataclass(frozen=True, kw_only=True)
class HeadScore:
    """The scores of one head on some texts; shares of attention are means in [0, 1], None where unknown."""

    attention: str  # its name in ATTENTIONS
    layer: int
    head: int
    aligned: float | None  # on the positions that determine the next token; None: not known for these texts
    previous: float | None  # on the token before
    first: float | None  # on the first token
    near: float | None  # on the token itself and up to three on either side, for tokens that may attend to more
    effect: float  # nats by which the loss of the determined tokens rises without the head
    antecedent: float | None = None  # of pronouns in the source, on their antecedents; None where these are not known

    @property
    def habit(self) -> tuple[str, float] | None:
        """The name and the value of the share that most of its attention goes to; None if no share is notable."""
        names = ("antecedent", "aligned", "previous", "first")
        shares = {name: share for name in names if (share := getattr(self, name)) is not None}
        name = max(shares, key=shares.__getitem__, default=None)  # in cross-attention there may be none
        if name is not None and shares[name] >= _NOTABLE_SHARE:
            return name, shares[name]
        return ("near", self.near) if self.near is not None and self.near >= _NOTABLE_SHARE_NEAR else None

    @property
    def is_telling(self) -> bool:
        """Whether anything about the head stands out."""
        return self.habit is not None or self.effect >= _NOTABLE_EFFECT


@dataclass(frozen=True, kw_only=True)
class Share:
    """A mean share of attention, in [0, 1], and the share expected by chance."""

    score: float
    chance: float  # the mean over shuffled tokens
    spread: float  # the standard deviation over shuffled tokens


@dataclass(frozen=True, kw_only=True)
class HeadMeasures:
    """One head, measured on some texts; None where a measure does not apply, or the texts give nothing to measure.

    Each is a mean over texts, and in a text over its queries.
    """

    attention: str  # its name in ATTENTIONS
    layer: int
    head: int
    entropy: float | None  # nats, of queries with a choice: those that may look at two keys or more
    relative_entropy: float | None  # of the same, each divided by log(keys that it may look at); in [0, 1]
    diagonality: Share | None  # 1: all on the diagonal; 0: as far from it as evenly spread attention, or farther
    previous: Share | None  # on the token before; None in cross-attention
    induction: Share | None  # of tokens that occurred before, on what came after them then; None in cross-attention
    aligned: Share | None  # on the tokens that determine the next one, by the corpus

    @property
    def name(self) -> HeadName:
        """Which head this is."""
        return HeadName(self.attention, self.layer, self.head)
