"""Curves of a training: read, smoothed and thinned, against loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headlight.analysis.training.curves import Curve, curves_of, smoothed, thinned


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
