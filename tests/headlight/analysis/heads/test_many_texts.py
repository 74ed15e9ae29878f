"""One head over texts: the measures by loops, the examples by hand."""

import math
import statistics
from collections.abc import Callable

import numpy as np
import pytest

from headlight.analysis.heads.many_texts import MEASURES, HeadOnText, HeadOverTexts
from headlight.analysis.heads.measures import HeadName
from headlight.analysis.trace.cells import Cell
from headlight.analysis.trace.model_run import run_text
from tests.headlight.analysis.conftest import Made


def on_text(text: str, **values: float | None) -> HeadOnText:
    given: dict[str, float | None] = {"entropy": 0.5, "distance": 1.0, "share_on_first": 0.2, **values}
    strongest = Cell(query=1, key=0, value=given.pop("strongest_weight", 0.9) or 0)
    return HeadOnText(text=text, strongest=strongest, strongest_labels=("b", "a"), n_tokens=3, **given)


@pytest.mark.parametrize("shape", [(5, 5), (3, 6)])
def test_measures_are_those_of_loops(shape: tuple[int, int]):
    mask = np.tri(*shape, dtype=bool)
    weights = np.random.default_rng(0).gamma(0.4, size=shape) * mask
    pattern = (weights / weights.sum(axis=-1, keepdims=True)).astype(np.float32)
    queries, keys = [f"q{i}" for i in range(shape[0])], [f"k{i}" for i in range(shape[1])]
    actual = HeadOnText.of("a text", pattern, mask, queries, keys)
    entropies, distances, shares, best = [], [], [], (0.0, 0, 0)
    for query in range(1, shape[0]):  # the first has no choice
        row = pattern[query].tolist()
        entropies.append(-sum(w * math.log(w) for w in row if w))
        distances.append(sum(w * abs(query - key) for key, w in enumerate(row)))
        shares.append(row[0])
        best = max(best, *((w, query, key) for key, w in enumerate(row)))
    assert actual.entropy == pytest.approx(statistics.mean(entropies))
    assert actual.distance == pytest.approx(statistics.mean(distances))
    assert actual.share_on_first == pytest.approx(statistics.mean(shares))
    assert (actual.strongest_weight, actual.strongest.query, actual.strongest.key) == best
    assert actual.strongest_labels == (f"q{best[1]}", f"k{best[2]}")
    assert actual.n_tokens == shape[1] and actual.text == "a text"


def test_a_head_in_a_model_run(make: Callable[..., Made]):
    model, tokenizer = make("encoder_decoder")
    model_run = run_text(model, tokenizer, "The cat sees the dog.")
    pattern, mask = model_run.patterns["cross"][0, 1], model_run.masks["cross"][0]
    by_hand = HeadOnText.of("a text", pattern, mask, model_run.target, model_run.source)
    assert HeadOnText.in_run("a text", model_run, HeadName("cross", 0, 1)) == by_hand


def test_a_text_without_a_choice_has_no_measures_but_a_strongest_cell():
    lone = HeadOnText.of("a", np.ones((1, 1)), np.ones((1, 1), dtype=bool), "a", "a")
    assert lone.entropy is lone.distance is lone.share_on_first is None
    assert lone.strongest_labels == ("a", "a")


def test_means_and_deviations():
    values = [0.1, 0.5, 0.9, 0.7]
    over = HeadOverTexts.of([on_text(str(v), entropy=v, strongest_weight=v / 2) for v in values])
    assert set(over.measures) == set(MEASURES)
    for name, factor in (("entropy", 1), ("strongest_weight", 0.5)):
        spread = over.measures[name]
        assert spread is not None and spread.mean == pytest.approx(factor * statistics.mean(values))
        assert spread.deviation == pytest.approx(factor * statistics.pstdev(values)) and spread.n_texts == 4


def test_texts_that_lack_a_measure_are_left_out_of_it():
    over = HeadOverTexts.of([on_text("lone", entropy=None), on_text("other", entropy=0.4)])
    spread = over.measures["entropy"]
    assert spread is not None and (spread.mean, spread.deviation, spread.n_texts) == (0.4, 0, 1)
    np.testing.assert_array_equal(over.values("entropy"), [np.nan, 0.4])
    nothing = HeadOverTexts.of([on_text("lone", entropy=None)])
    assert nothing.measures["entropy"] is None
