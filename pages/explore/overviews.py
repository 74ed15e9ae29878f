"""The data of the overview of all heads for a model run, and the measures of each head; cached for all sessions."""

from typing import TYPE_CHECKING, Any

import numpy as np

from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.figures import isolate, levels
from pages.shared import cache, readings
from pages.shared.sources import Source
from transformer_core.errors import mark
from transformer_core.text.interface import Given

if TYPE_CHECKING:
    from headlight.analysis.trace.attention_maps import PooledHeads
    from headlight.analysis.trace.model_run import ModelRun

LABEL_LENGTH = 30  # characters of a token in a tooltip

Overview = tuple[list[dict[str, Any]], bytes]
Measures = dict[str, dict[str, np.ndarray]]
"""[layer, head] by name of the measure, by attention."""


@cache.by_arguments(mark("head overviews"))
def read(source: Source, text: Given, target: str | None) -> Overview:
    """Return the overview of a text: its groups, and one byte per cell.

    Raises:
        HeadlightError: as `readings.read`.
    """
    return of(readings.read(source, text, target))


def of(model_run: "ModelRun") -> Overview:
    """Return the groups of the overview, one per attention, and one byte per cell of every pattern."""
    side = readings.picture_side(model_run)
    groups, thumbnails = [], b""
    for name, attention_maps in model_run.attention_maps.items():
        pooled = attention_maps.overview(side)
        n_layers, n_heads, n_rows, n_columns = pooled.patterns.shape
        groups.append(
            {
                "attention": name,
                "title": ATTENTIONS[name].title,
                "layers": n_layers,
                "heads": n_heads,
                "queries": n_rows,
                "keys": n_columns,
                "strongest": [
                    [_strongest(model_run, name, pooled, layer, head) for head in range(n_heads)]
                    for layer in range(n_layers)
                ],
            }
        )
        thumbnails += levels(pooled.patterns, pooled.mask[:, None]).tobytes()
    return groups, thumbnails


def _strongest(
    model_run: "ModelRun", attention: str, pooled: "PooledHeads", layer: int, head: int
) -> tuple[str, str, float]:
    """Return the query, the key and the value of a head's largest weight."""
    queries, keys = model_run.labels(attention)
    query, key = queries[int(pooled.queries[layer, head])], keys[int(pooled.keys[layer, head])]
    weight = float(pooled.weights[layer, head])
    return isolate(query[:LABEL_LENGTH]), isolate(key[:LABEL_LENGTH]), weight


@cache.by_arguments(mark("head measures"))
def measures(source: Source, text: Given, target: str | None) -> Measures:
    """Return every measure of every head on a text.

    Raises:
        HeadlightError: as `readings.read`.
    """
    from headlight.analysis.heads.text_measures import measure_run

    return measure_run(readings.read(source, text, target))
