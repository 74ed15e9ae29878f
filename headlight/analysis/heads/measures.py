"""Measures of a head: a few numbers of where it attends, each share of attention beside that by chance.

Chance is the share of the same weights over the same texts with their tokens in another order.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from headlight.analysis.trace.attentions import ATTENTIONS, attentions_of
from transformer_core.config import ModelConfig
from transformer_core.errors import Message

ENTROPIES = ("entropy", "relative_entropy")  # the fields of `HeadMeasures` that are plain numbers
SHARES = ("diagonality", "previous", "induction", "aligned")  # those that are a `Share`


class HeadName(NamedTuple):
    """Which head."""

    attention: str  # its name in ATTENTIONS
    layer: int
    head: int

    def in_words(self) -> Message:
        """Return the head as it is called on the screen."""
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
class Share:
    """A mean share of attention, in [0, 1], and what the same weights would get by chance."""

    score: float
    chance: float  # the mean over shuffled tokens
    spread: float  # the standard deviation over shuffled tokens


@dataclass(frozen=True, kw_only=True)
class HeadMeasures:
    """One head, measured on some texts; None where a measure has no meaning, or the texts give nothing to measure.

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
