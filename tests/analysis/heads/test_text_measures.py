"""Heads in numbers: against loops over single cells, what head meters measure, and patterns that are known by heart."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import log

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.model.building import varied_model
from transformer_core.analysis.heads.habits import induction_cells
from transformer_core.analysis.heads.text_measures import (
    MEASURES,
    TextMeasures,
    behind_the_same,
    measure_text,
)
from transformer_core.analysis.trace.traced_forward import TracedForward

CAUSAL, FULL, WIDE = np.tri(7, dtype=bool), np.ones((7, 7), dtype=bool), np.ones((7, 4), dtype=bool)
WINDOW = CAUSAL & ~np.tri(7, k=-3, dtype=bool)
IDS = np.array([8, 5, 6, 8, 5, 5, 8])
NO_SOURCE = WIDE & np.array([True] * 5 + [False] * 2)[:, None]  # two queries that may look at nothing


@dataclass(frozen=True)
class Written:
    """Patterns that are written out, handed on some rows at a time."""

    patterns: np.ndarray  # layer head query key
    mask: np.ndarray
    n_rows: int

    @property
    def shape(self) -> tuple[int, int, int, int]:
        n_layers, n_heads, n_queries, n_keys = self.patterns.shape
        return n_layers, n_heads, n_queries, n_keys

    def chunks(self, layer: int) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        for first in range(0, len(self.mask), self.n_rows):
            queries = slice(first, min(first + self.n_rows, len(self.mask)))
            yield queries, self.patterns[layer, :, queries], self.mask[queries]


def random_patterns(mask: np.ndarray, *heads: int) -> np.ndarray:
    weights = np.random.default_rng(0).random((*heads, *mask.shape)).astype(np.float32) ** 4 * mask
    return weights / np.maximum(weights.sum(axis=-1, keepdims=True), 1e-9)


def measured_cell_by_cell(pattern: np.ndarray, mask: np.ndarray, special: list[bool], is_self: bool) -> dict:
    """Every measure of one head, in plain loops."""
    n_queries, n_keys = mask.shape
    found: dict[str, list[float]] = {name: [] for name in [*MEASURES, "even"]}
    for q in range(n_queries):
        keys = [k for k in range(n_keys) if mask[q, k]]
        weights = {k: float(pattern[q, k]) for k in keys}
        if is_self and not special[q]:
            behind = [k for k in keys if 1 <= k <= q and IDS[k - 1] == IDS[q]]
            found["induction"] += [sum(weights[k] for k in behind)] if behind else []
        if is_self and q >= 2:
            found["first"] += [weights[0]] if 0 in keys else []
            found["previous"] += [weights[q - 1]] if q - 1 in keys else []
        if len(keys) < 2:
            continue
        if not is_self:
            found["first"] += [weights[0]] if 0 in keys else []
        if any(special[k] for k in keys):
            found["special"].append(sum(w for k, w in weights.items() if special[k]))
        found["entropy"].append(-sum(w * log(w) for w in weights.values() if w > 0))
        found["distance"].append(sum(abs(q - k) * w for k, w in weights.items()))
        middle = round(q * (n_keys - 1) / (n_queries - 1))
        farthest = max(abs(k - middle) for k in keys)
        found["diagonality"].append(sum((1 - abs(k - middle) / farthest) * w for k, w in weights.items()))
        found["even"].append(sum(1 - abs(k - middle) / farthest for k in keys) / len(keys))
    means = {name: sum(values) / len(values) if values else np.nan for name, values in found.items()}
    even = means.pop("even")
    means["diagonality"] = min(max((means["diagonality"] - even) / (1 - even), 0), 1)
    return means


@pytest.mark.parametrize("n_rows", [1, 3, 7])
@pytest.mark.parametrize(
    ("mask", "attention"),
    [(CAUSAL, "decoder"), (FULL, "encoder"), (WINDOW, "decoder"), (WIDE, "cross"), (NO_SOURCE, "cross")],
    ids=["causal", "full", "window", "cross", "partial"],
)
def test_every_measure_cell_by_cell(mask: np.ndarray, attention: str, n_rows: int):
    patterns = random_patterns(mask, 2, 3)
    special = np.arange(mask.shape[1]) % 3 == 0
    found = measure_text(Written(patterns, mask, n_rows), special, attention=attention, ids=IDS)
    assert list(found) == [name for name, measure in MEASURES.items() if measure.applies(attention)]
    for layer, head in np.ndindex(2, 3):
        expected = measured_cell_by_cell(patterns[layer, head], mask, special.tolist(), attention != "cross")
        for name, values in found.items():
            assert values.shape == (2, 3)
            assert values[layer, head] == pytest.approx(expected[name], rel=1e-4, abs=1e-6), name
            low, high = MEASURES[name].range(mask.shape[1])
            assert low <= values[layer, head] <= high


def test_a_layer_with_a_window_is_measured_by_its_own_mask():
    """Of the model's own numbers, cell by cell, over a mask by the rule |query - key| < 3 in layer 1 alone."""
    model = varied_model("encoder, windows and none", n_encoder_layers=3)
    with torch.inference_mode():
        attention_maps = TracedForward(model, torch.from_numpy(IDS)[None]).attention_maps["encoder"]
    special = np.arange(7) % 6 == 0
    found = measure_text(attention_maps, special, attention="encoder", ids=IDS)
    patterns, distances = attention_maps.full(), np.abs(np.arange(7)[:, None] - np.arange(7))
    for layer, head in np.ndindex(patterns.shape[:2]):
        mask = distances < 3 if layer == 1 else FULL
        expected = measured_cell_by_cell(patterns[layer, head], mask, special.tolist(), True)
        for name, values in found.items():
            assert values[layer, head] == pytest.approx(expected[name], rel=1e-4, abs=1e-6), name


@given(st.lists(st.integers(0, 4), min_size=1, max_size=12), st.sets(st.integers(0, 4), max_size=2), st.integers(1, 5))
def test_what_came_behind_is_that_of_the_habits_some_rows_at_a_time(ids: list[int], special: set[int], n_rows: int):
    tokens, is_special = np.array(ids), np.isin(ids, [*special])
    places = np.arange(len(ids))
    rows = [behind_the_same(tokens, is_special, places[first : first + n_rows]) for first in places[::n_rows]]
    np.testing.assert_array_equal(np.concatenate(rows), induction_cells(tokens, special))


def test_where_there_is_nothing_to_measure_there_is_no_number():
    patterns, mask = np.ones((1, 2, 1, 1), dtype=np.float32), np.ones((1, 1), dtype=bool)
    found = measure_text(Written(patterns, mask, 1), np.zeros(1, dtype=bool), attention="decoder", ids=IDS[:1])
    assert all(np.isnan(values).all() for values in found.values())
    patterns = random_patterns(CAUSAL, 1, 2)
    found = measure_text(Written(patterns, CAUSAL, 7), np.zeros(7, dtype=bool), attention="decoder")
    assert [name for name, values in found.items() if np.isnan(values).any()] == ["special"]
    assert "induction" not in found  # nobody said which tokens they are
    apart = measure_text(Written(patterns, CAUSAL, 7), np.zeros(7, dtype=bool), attention="decoder", ids=np.arange(7))
    assert np.isnan(apart["induction"]).all()  # no token comes again
    assert np.isnan(TextMeasures(2, 7, np.zeros(7, dtype=bool), is_self=True).finished()["entropy"]).all()
