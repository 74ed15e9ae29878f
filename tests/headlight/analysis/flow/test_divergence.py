"""Divergences against loops and scipy; changes of heads by hand."""

import math

import numpy as np
import pytest
from scipy.spatial import distance  # type: ignore[import-untyped]

from headlight.analysis.flow.divergence import entropy, js_divergence


def rows(*shape: int, seed: int = 0, sparse: bool = False) -> np.ndarray:
    generator = np.random.default_rng(seed)
    weights = generator.gamma(0.2, size=shape) + 1e-12
    if sparse:
        weights *= generator.random(shape) < 0.5
        weights[..., 0] += 1e-3
    return weights / weights.sum(axis=-1, keepdims=True)


def by_loops(p: list[float], q: list[float]) -> float:
    """Half the sum of both Kullback-Leibler divergences to the middle, in bits."""
    total = 0.0
    for a, b in zip(p, q, strict=True):
        total += sum(one * math.log2(one / ((a + b) / 2)) for one in (a, b) if one > 0)
    return total / 2


@pytest.mark.parametrize("sparse", [False, True])
def test_divergence_is_that_of_loops_and_distance_that_of_scipy(sparse: bool):
    p, q = rows(4, 3, 7, seed=1, sparse=sparse), rows(4, 3, 7, seed=2, sparse=sparse)
    divergence = js_divergence(p, q)
    assert divergence.shape == (4, 3)
    for place in np.ndindex(4, 3):
        assert divergence[place] == pytest.approx(by_loops(p[place].tolist(), q[place].tolist()), abs=1e-14)
    np.testing.assert_allclose(np.sqrt(divergence), distance.jensenshannon(p, q, base=2, axis=-1), rtol=1e-9)


def test_limits_are_exact():
    p = rows(50, 9).astype(np.float32)
    assert not js_divergence(p, p).any()
    apart = np.array([1.0, 0, 0]), np.array([0, 0.25, 0.75])
    assert float(js_divergence(*apart)) == pytest.approx(1, rel=1e-15)
    assert float(js_divergence(*(2 * row for row in apart))) == 1  # never more, whatever rows sum to
    nothing = np.zeros(3)
    assert float(js_divergence(nothing, nothing)) == 0
    assert float(js_divergence(nothing, apart[1])) == pytest.approx(1 / 2)


def test_float32_is_worked_on_in_float64():
    """In float32, rows that differ by so little would be equal or worse."""
    p = np.full((1, 1000), 1e-3, dtype=np.float32)
    q = p.copy()
    q[0, 0], q[0, 1] = np.float32(1.001e-3), np.float32(0.999e-3)
    expected = by_loops(p[0].tolist(), q[0].tolist())
    assert float(js_divergence(p, q)[0]) == pytest.approx(expected, rel=1e-3)


def test_entropy_by_hand():
    p = np.array([[0.5, 0.5, 0, 0], [0.25] * 4, [0, 0, 1, 0], [0, 0, 0, 0]])
    np.testing.assert_allclose(entropy(p), [math.log(2), math.log(4), 0, 0], atol=1e-15)
    assert entropy(p, unit="bits").tolist() == [1, 2, 0, 0]
