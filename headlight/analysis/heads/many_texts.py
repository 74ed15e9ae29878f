"""One head over many texts: the mean of its measures, how much they vary, and the measures of each text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float

from headlight.analysis.flow.divergence import entropy, has_choice
from headlight.analysis.heads.measures import HeadName
from headlight.analysis.trace.cells import Cell, strongest_cell
from transformer_core.errors import ConfigError, NotFiniteError
from transformer_core.text.interface import Given

if TYPE_CHECKING:
    from headlight.analysis.trace.model_run import ModelRun

MEASURES = ("entropy", "distance", "share_on_first", "strongest_weight")
"""The measures of a head on a text: fields or properties of `HeadOnText`."""


@dataclass(frozen=True, kw_only=True)
class HeadOnText:
    """Measures of a head on one text, over the queries with a choice: those with at least two allowed keys."""

    text: Given
    entropy: float | None  # nats, the mean over those queries; None: no query has a choice
    distance: float | None  # |query - key| in tokens, weighted by attention; the same
    share_on_first: float | None  # share of attention on the first key, in [0, 1]; likewise
    strongest: Cell
    strongest_labels: tuple[str, str]  # of its query and its key
    n_tokens: int  # the number of keys

    @property
    def strongest_weight(self) -> float:
        """The weight of the strongest cell, in [0, 1]."""
        return self.strongest.value

    @classmethod
    def in_run(cls, text: Given, model_run: "ModelRun", head: HeadName) -> "HeadOnText":
        """Measure a head on the text of a model run.

        Raises:
            NotFiniteError: a weight is NaN or infinite.
        """
        attention_maps = model_run.attention_maps[head.attention]
        pattern = attention_maps.pattern(head.layer, head.head)
        return cls.of(text, pattern, attention_maps.mask(head.layer), *model_run.labels(head.attention))

    @classmethod
    def of(
        cls,
        text: Given,
        pattern: Float[np.ndarray, "query key"],
        mask: Bool[np.ndarray, "query key"],
        query_labels: Sequence[str],
        key_labels: Sequence[str],
    ) -> "HeadOnText":
        """Measure a pattern, as `in_run` does; in cross-attention the distance is between places of two texts."""
        if not np.isfinite(pattern[mask]).all():
            raise NotFiniteError("the head’s attention weights are NaN or infinite; use other weights or interventions")
        n_queries, n_keys = pattern.shape
        chosen = has_choice(mask)
        rows = pattern[chosen].astype(np.float64)
        steps = np.abs(np.arange(n_queries)[chosen, None] - np.arange(n_keys))  # some queries, key
        strongest = strongest_cell(pattern, mask)
        return cls(
            text=text,
            entropy=float(entropy(rows).mean()) if len(rows) else None,
            distance=float((rows * steps).sum(axis=-1).mean()) if len(rows) else None,
            share_on_first=float(rows[:, 0].mean()) if len(rows) else None,
            strongest=strongest,
            strongest_labels=(query_labels[strongest.query], key_labels[strongest.key]),
            n_tokens=n_keys,
        )


@dataclass(frozen=True, kw_only=True)
class Spread:
    """A measure over texts, each text counting alike."""

    mean: float
    deviation: float  # standard deviation of these texts (divided by their number)
    n_texts: int  # texts that have the measure


@dataclass(frozen=True, kw_only=True)
class HeadOverTexts:
    """Measures of a head on several texts."""

    texts: tuple[HeadOnText, ...]
    measures: Mapping[str, Spread | None]  # by name in MEASURES; None: no text has it

    @classmethod
    def of(cls, texts: Sequence[HeadOnText]) -> "HeadOverTexts":
        """Combine the measures of several texts.

        Raises:
            ConfigError: there is no text.
        """
        if not texts:
            raise ConfigError("there are no texts to measure the head on; give at least one")
        return cls(texts=tuple(texts), measures={measure: _spread(texts, measure) for measure in MEASURES})

    def values(self, measure: str) -> Float[np.ndarray, " text"]:
        """Return a measure of each text, NaN where it has none."""
        return np.array([getattr(text, measure) for text in self.texts], dtype=np.float64)


def _spread(texts: Sequence[HeadOnText], measure: str) -> Spread | None:
    known = [value for text in texts if (value := getattr(text, measure)) is not None]
    return Spread(mean=float(np.mean(known)), deviation=float(np.std(known)), n_texts=len(known)) if known else None
