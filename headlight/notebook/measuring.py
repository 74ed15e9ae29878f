"""Measures of heads that need nothing but their patterns."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from headlight.analysis.heads.measure_texts import MEASURE_TEXTS
from headlight.analysis.heads.text_measures import MEASURES, measure_text, range_of
from headlight.language import say
from headlight.viewing.patterns import AttentionPatterns, is_causal


@dataclass(frozen=True, kw_only=True)
class _Rows:
    """Patterns with their mask, as `measure_text` reads them."""

    patterns: Float[np.ndarray, "layer head query key"]
    masks: Bool[np.ndarray, "layer query key"]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.patterns.shape

    def chunks(self, layer: int) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        yield slice(0, self.shape[2]), self.patterns[layer], self.masks[layer]


def mask_of(attention: AttentionPatterns) -> Bool[np.ndarray, "layer query key"]:
    """Return the mask of an attention; where it is unknown, decoders mask later keys, if none of them has a weight."""
    if attention.mask is not None:
        return attention.mask
    n_layers, _, n_queries, n_keys = attention.patterns.shape
    is_masked = attention.kind == "decoder" and is_causal(attention.patterns)
    mask = np.tri(n_queries, n_keys, n_keys - n_queries if is_masked else n_keys, dtype=bool)
    return np.broadcast_to(mask, (n_layers, n_queries, n_keys))


def measures_of(
    attentions: Mapping[str, AttentionPatterns], masks: Mapping[str, Bool[np.ndarray, "layer query key"]]
) -> list[dict[str, Any]]:
    """Return the measures that apply to any attention, as JSON: their names, and a value for each head, or null."""
    values = {name: _measured(attention, masks[name]) for name, attention in attentions.items()}
    n_keys = max(len(attention.keys) for attention in attentions.values())
    measures = []
    for measure in MEASURES:
        of_attentions = {name: _as_json(of[measure]) for name, of in values.items() if measure in of}
        if any(value is not None for of in of_attentions.values() for layer in of for value in layer):
            texts = MEASURE_TEXTS[measure]
            words = {"title": say(texts.title), "name": say(texts.inline), "unit": say(texts.unit)}
            measures.append({"id": measure, "values": of_attentions, "ends": range_of(measure, n_keys), **words})
    return measures


def _measured(attention: AttentionPatterns, mask: Bool[np.ndarray, "layer query key"]) -> dict[str, np.ndarray]:
    special = np.zeros(len(attention.keys), dtype=bool) if attention.special is None else np.array(attention.special)
    numbers = {label: i for i, label in enumerate(dict.fromkeys(attention.queries))}
    ids = np.array([numbers[label] for label in attention.queries])  # equal labels: the same token
    rows: Any = _Rows(patterns=attention.patterns, masks=mask)
    return measure_text(rows, special, attention=attention.kind, ids=None if attention.kind == "cross" else ids)


def _as_json(values: Float[np.ndarray, "layer head"]) -> list[list[float | None]]:
    return [[round(value, 6) if math.isfinite(value) else None for value in layer] for layer in values.tolist()]
