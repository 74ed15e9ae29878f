"""Heads in numbers: against loops over single cells, what head meters measure, and patterns that are known by heart."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import transformer_core as tc
from tests.model.building import DECODER, ENCODER, odd_config, shaken_model, varied_model
from transformer_core.analysis.heads.habits import first_cells, induction_cells, mean_share, previous_cells
from transformer_core.analysis.heads.measured_texts import diagonal_weights, entropy_weights
from transformer_core.analysis.heads.meter import measure_heads
from transformer_core.analysis.heads.text_measures import (
    MEASURES,
    InChunks,
    TextMeasures,
    behind_the_same,
    closeness,
    measure_text,
)
from transformer_core.analysis.trace.cases import case_of
from transformer_core.analysis.trace.traced_forward import TracedForward
from transformer_core.corpora.corpus import Text

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


@pytest.mark.parametrize("mask", [CAUSAL, FULL, WIDE], ids=["causal", "full", "cross"])
def test_the_measures_are_those_of_head_meters_and_habits(mask: np.ndarray):
    n_queries, n_keys = mask.shape
    patterns = random_patterns(mask, 1, 4)
    special = np.zeros(n_keys, dtype=bool)
    attention = "decoder" if n_queries == n_keys else "cross"
    found = measure_text(Written(patterns, mask, 2), special, attention=attention, ids=IDS)
    (weights,) = diagonal_weights(np.arange(n_queries)[None], np.arange(n_keys)[None], mask)
    diagonality = (patterns[0] * weights).sum(axis=(1, 2)).clip(0, 1)
    np.testing.assert_allclose(found["diagonality"][0], diagonality, rtol=1e-4, atol=1e-6)
    entropies = -(patterns[0] * np.log(np.where(patterns[0] > 0, patterns[0], 1))).sum(axis=2)
    np.testing.assert_allclose(found["entropy"][0], entropies @ entropy_weights(mask)[:, 0], rtol=1e-5)
    if attention == "decoder":
        habits = {"first": first_cells(n_queries), "previous": previous_cells(n_queries)}
        for name, cells in (habits | {"induction": induction_cells(IDS, ())}).items():
            shares = mean_share(patterns[0], cells & mask)
            assert shares is not None
            np.testing.assert_allclose(found[name][0], shares, rtol=1e-5)


def test_plain_heads_by_heart():
    even = CAUSAL / CAUSAL.sum(axis=1, keepdims=True)
    before, first = np.eye(7, k=-1), np.tile(np.eye(7)[0], (7, 1))
    before[0, 0] = 1
    heads = np.stack([np.eye(7), before, first, even]).astype(np.float32)
    special = np.arange(7) == 0
    found = measure_text(Written(heads[None], CAUSAL, 4), special, attention="decoder")
    by_head = {name: values[0].tolist() for name, values in found.items()}
    n_queries = 6  # with a choice
    assert by_head["entropy"] == pytest.approx([0, 0, 0, sum(log(n) for n in range(2, 8)) / n_queries], abs=1e-5)
    assert by_head["distance"] == pytest.approx([0, 1, sum(range(1, 7)) / n_queries, sum(range(1, 7)) / 2 / n_queries])
    harmonic = sum(1 / n for n in range(1, 7))  # the token before is 1 of q away: its closeness is 1 - 1 / q
    diagonality = (1 - harmonic / n_queries - 0.5) / (1 - 0.5)  # even attention has 0.5 in each row
    assert by_head["diagonality"] == pytest.approx([1, diagonality, 0, 0], abs=1e-5)
    assert by_head["first"][:3] == [0, 0, 1] and by_head["previous"][:3] == [0, 1, 0]
    assert by_head["special"][2] == 1 and by_head["special"][0] == 0


@given(st.lists(st.integers(0, 4), min_size=1, max_size=12), st.sets(st.integers(0, 4), max_size=2), st.integers(1, 5))
def test_what_came_behind_is_that_of_the_habits_some_rows_at_a_time(ids: list[int], special: set[int], n_rows: int):
    tokens, is_special = np.array(ids), np.isin(ids, [*special])
    places = np.arange(len(ids))
    rows = [behind_the_same(tokens, is_special, places[first : first + n_rows]) for first in places[::n_rows]]
    np.testing.assert_array_equal(np.concatenate(rows), induction_cells(tokens, special))


@pytest.mark.parametrize(
    "config", [DECODER, DECODER | {"sliding_window": 3}, ENCODER], ids=["all", "window", "encoder"]
)
def test_induction_is_what_a_head_meter_measures_on_the_same_text(config: dict[str, Any]):
    tokenizer = tc.train_tokenizer(["a b c d"], kind="word", mask=True)
    model, text = shaken_model(odd_config(vocab_size=tokenizer.vocab_size, **config)), Text("a b c a b d c a a b c")
    ids = np.array(case_of(model.config, tokenizer, text).inputs[0])
    special = np.array(tokenizer.is_special(ids.tolist()))
    measured = measure_heads(model, tokenizer, [text])
    with torch.inference_mode():
        ((name, attention_maps),) = TracedForward(model, torch.from_numpy(ids)[None]).attention_maps.items()
    found = measure_text(attention_maps, special, attention=name, ids=ids)["induction"]
    assert found.size == len(measured)
    for one in measured:
        assert one.induction is not None
        assert found[one.layer, one.head] == pytest.approx(one.induction.score, rel=1e-4)


def test_the_numbers_are_in_their_ranges():
    for mask, attention in ((CAUSAL, "decoder"), (FULL, "encoder"), (WIDE, "cross")):
        special = np.arange(mask.shape[1]) == 1
        found = measure_text(Written(random_patterns(mask, 2, 3), mask, 7), special, attention=attention)
        for name, values in found.items():
            low, high = MEASURES[name].range(mask.shape[1])
            assert ((values >= low) & (values <= high)).all(), name
    assert MEASURES["entropy"].range(8) == (0, pytest.approx(log(8)))
    assert MEASURES["distance"].range(8) == (0, 7)
    assert MEASURES["previous"].range(8) == (0, 1)


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


def test_closeness_by_hand():
    mask = np.ones((2, 3), dtype=bool)
    found = closeness(np.array([0, 1]), np.arange(3), mask, 3)
    np.testing.assert_allclose(found, [[1, 0.5, 0], [0, 1, 0]])
    np.testing.assert_allclose(closeness(np.array([1]), np.arange(3), mask[:1], 2), [[0, 0.5, 1]])  # key 2 is opposite


def test_every_measure_says_what_it_means():
    assert all(name == measure.name for name, measure in MEASURES.items())
    assert all(measure.title and measure.meaning.endswith(".") for measure in MEASURES.values())
    assert [name for name, measure in MEASURES.items() if not measure.applies("cross")] == [
        "distance",
        "previous",
        "induction",
    ]
    assert isinstance(Written(random_patterns(FULL, 1, 1), FULL, 1), InChunks)
