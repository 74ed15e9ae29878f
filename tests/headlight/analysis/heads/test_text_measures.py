"""Heads of one text in numbers: what a meter measures on it, and sums over the cells of patterns."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import transformer_core as tc
from headlight.analysis.heads.habits import induction_cells
from headlight.analysis.heads.measures import HeadName
from headlight.analysis.heads.meter import measure_heads
from headlight.analysis.heads.text_measures import MEASURES, applies, measure_text
from headlight.analysis.trace.attentions import attentions_of
from headlight.analysis.trace.cases import case_of
from headlight.analysis.trace.traced_forward import TracedForward
from tests.headlight.analysis.heads.test_meter import KINDS, a_model
from tests.model.building import DECODER
from transformer_core.instrument import lazy


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("item", [0, 1])
def test_it_is_what_a_meter_measures_and_what_cells_sum_to(kind: str, item: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lazy, "_CHUNK_BYTES", 100)  # some rows at a time
    changes, items = KINDS[kind]
    tokenizer = tc.train_tokenizer(["a b c d"], kind="word", mask=True)
    model = a_model(tokenizer, **changes)
    metered = {one.name: one for one in measure_heads(model, tokenizer, [items[item]], n_shuffles=2)}
    case = case_of(model.config, tokenizer, items[item])
    with torch.inference_mode():
        by_name = TracedForward(model, *case.tensors(torch.device("cpu"))).attention_maps
    for attention, maps in by_name.items():
        sides = attentions_of(model.config)[attention]
        ids, keys = (np.array(case.side(side)) for side in (sides.queries_from, sides.keys_from))
        n_queries, n_keys = maps.shape[2:]
        special = np.isin(keys, [each for each in (tokenizer.bos_id, tokenizer.eos_id, tokenizer.mask_id) if each])
        actual = measure_text(maps, special, attention=attention, ids=ids)
        assert list(actual) == [name for name in MEASURES if applies(name, attention)]
        distances = np.abs(np.arange(n_queries)[:, None] - np.arange(n_keys))
        for layer, head in np.ndindex(maps.shape[:2]):
            mask = maps.mask(layer)
            has_choice = mask.sum(axis=1) >= 2
            has_other = has_choice if attention == "cross" else np.arange(n_queries) >= 2
            sums = {
                "distance": (distances, has_choice),
                "first": (np.arange(n_keys) == 0, has_other & mask[:, 0]),
                "special": (special, has_choice & mask[:, special].any(axis=1)),
            }
            for measure, values in actual.items():
                if measure in sums:
                    cells, rows = sums[measure]
                    shares = (maps.full()[layer, head] * cells).sum(axis=1)[rows]
                    expected = shares.mean() if len(shares) else np.nan
                else:
                    known = getattr(metered[HeadName(attention, layer, head)], measure)
                    if known is None:
                        continue
                    expected = known if measure == "entropy" else known.score
                assert values[layer, head] == pytest.approx(expected, rel=1e-4, abs=1e-5, nan_ok=True), measure


@given(st.lists(st.integers(0, 4), min_size=1, max_size=12), st.sets(st.integers(0, 4), max_size=2), st.integers(1, 5))
def test_induction_looks_after_earlier_occurrences_some_rows_at_a_time(ids: list[int], special: set[int], n_rows: int):
    tokens, is_special = np.array(ids), np.isin(ids, [*special])
    rows = [induction_cells(tokens, is_special, slice(first, first + n_rows)) for first in range(0, len(ids), n_rows)]
    expected = [
        [0 < key <= query and ids[key - 1] == token and token not in special for key in range(len(ids))]
        for query, token in enumerate(ids)
    ]
    np.testing.assert_array_equal(np.concatenate(rows), expected)


def test_where_there_is_nothing_to_measure_there_is_no_number():
    model = a_model(tc.train_tokenizer(["a b c d"], kind="word"), **DECODER)
    with torch.inference_mode():
        maps = TracedForward(model, torch.tensor([[1]])).attention_maps["decoder"]
    actual = measure_text(maps, np.zeros(1, dtype=bool), attention="decoder")
    assert "induction" not in actual and all(np.isnan(values).all() for values in actual.values())
