"""Curves of a training and logs of experiments: read, smoothed and thinned, against loops and by hand."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headlight.analysis.training.curves import Curve, curves_of, read_experiment, smoothed, thinned
from transformer_core.errors import Message


def a_curve(n: int, seed: int = 0) -> Curve:
    random = np.random.default_rng(seed)
    return Curve(np.cumsum(random.integers(1, 20, n)), random.normal(size=n))


def test_a_log_becomes_curves():
    records = [
        {"step": 1, "loss": 7.0, "rate": 1e-3},
        {"step": 10, "loss": 6.0, "rate": 2e-3},
        {"step": 10, "held_out_loss": 5.5, "note": "words are left out", "state": None},
        {"step": 20, "loss": float("nan")},
        {"step": 10, "loss": 6.5},
    ]
    curves = curves_of(records)
    assert set(curves) == {"loss", "rate", "held_out_loss"}
    assert (curves["loss"].steps.tolist(), curves["loss"].values.tolist()) == ([1, 10], [7.0, 6.5])
    assert (curves["held_out_loss"].steps.tolist(), curves["held_out_loss"].values.tolist()) == ([10], [5.5])
    assert curves_of([]) == {}


@pytest.mark.parametrize("n", [0, 1, 2, 10, 57])
@pytest.mark.parametrize("reach", [0, 1, 4])
def test_smoothed_by_loops(n: int, reach: int):
    curve = a_curve(n)
    actual = smoothed(curve, n_neighbours=reach)
    for i in range(n):
        before = min(i, reach)
        window = curve.values[i - before : i + before + 1]  # a slice ends with the curve
        assert actual.values[i] == pytest.approx(sum(window) / len(window))
    np.testing.assert_array_equal(actual.steps, curve.steps)


@given(st.integers(0, 500), st.integers(2, 60), st.integers(0, 10))
def test_thinning_keeps_ends_and_extremes(n: int, n_points: int, seed: int):
    curve = a_curve(n, seed)
    actual = thinned(curve, n_points=n_points)
    assert len(actual.steps) <= max(n_points + 2, 0)
    points = dict(zip(curve.steps.tolist(), curve.values.tolist(), strict=True))
    assert all(points[step] == value for step, value in zip(actual.steps.tolist(), actual.values.tolist(), strict=True))
    assert (np.diff(actual.steps) > 0).all()
    if n:
        assert (actual.steps[0], actual.steps[-1]) == (curve.steps[0], curve.steps[-1])
        assert (actual.values.min(), actual.values.max()) == (curve.values.min(), curve.values.max())


VARIANTS = ("rotary_halves", "none")
MEASURED: dict[str, Any] = {
    "held_out": {"none": {"loss": 3.0, "exact_match": 0.0}, "rotary_halves": {"loss": 2.0, "exact_match": 0.25}},
    "lengths": [3, 9],
    "by_length": {"none": [0.5, 0.25], "rotary_halves": [1.0, 0.5]},
    "samples": [["abc", "cba"]],
    "outputs": {"none": ["aaa"], "rotary_halves": ["cba"]},
}
LOG: list[dict[str, Any]] = [
    {"step": 0} | MEASURED,
    {"step": 1, "loss": {"none": 3.5, "rotary_halves": 3.25}, "ended": {}, "seconds": 0.5},
    {"step": 2, "loss": {"rotary_halves": 3.0}, "ended": {"none": "it exploded"}, "seconds": 1.5},
    {"step": 2, "held_out": {"rotary_halves": {"loss": 1.0, "exact_match": 0.5}}, "lengths": [3, 9]}
    | {"by_length": {"rotary_halves": [1.0, 0.75]}, "samples": [["abc", "cba"]], "outputs": {"rotary_halves": ["cba"]}},
]


def test_before_the_first_line_there_is_nothing():
    reading = read_experiment([], VARIANTS)
    assert (reading.step, reading.last("loss"), reading.losses) == (0, {}, {})


def test_each_variant_has_its_curve_in_the_order_that_was_asked():
    reading = read_experiment(LOG, VARIANTS)
    assert [*reading.losses] == [*VARIANTS] == [*reading.held_out["loss"]]
    assert reading.losses["rotary_halves"].steps.tolist() == [1, 2]
    assert reading.losses["rotary_halves"].values.tolist() == [3.25, 3.0]
    assert reading.losses["none"].values.tolist() == [3.5]
    assert reading.held_out["exact_match"]["rotary_halves"].values.tolist() == [0.25, 0.5]
    assert reading.last("loss") == {"rotary_halves": 1.0, "none": 3.0}
    assert (reading.step, reading.seconds) == (2, 1.5)
    assert reading.ended == {"none": Message("it exploded")}


def test_what_was_measured_last_counts():
    first, last = read_experiment(LOG[:2], VARIANTS), read_experiment(LOG, VARIANTS)
    assert (first.measured_at, last.measured_at) == (0, 2)
    assert [*first.by_length] == [*VARIANTS]
    np.testing.assert_array_equal(first.by_length["none"], [0.5, 0.25])
    assert [*last.by_length] == ["rotary_halves"]
    np.testing.assert_array_equal(last.by_length["rotary_halves"], [1.0, 0.75])
    assert (last.samples, last.outputs) == ([("abc", "cba")], {"rotary_halves": ["cba"]})
