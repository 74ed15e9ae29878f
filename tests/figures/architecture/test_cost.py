"""Costs over the length of a text, as figures."""

import numpy as np

from transformer_core.figures.architecture.cost import cost_curves, share_areas
from transformer_core.figures.architecture.hues import COST_HUES


def traces_of(figure: object) -> dict:
    return {trace.name: trace for trace in figure.data}  # type: ignore[attr-defined]


def test_costs_are_drawn_over_the_length():
    lengths = [1, 10, 100]
    curves = {"attention": np.array([0, 200, 20_000]), "rest": np.array([5, 50, 500])}
    hues = [*COST_HUES.values()][:2]
    figure = cost_curves(lengths, curves, hues=hues, title="x", unit="multiply-adds", marks={"here": 10, "far": 5000})
    found = traces_of(figure)
    assert np.isnan(found["attention"].y[0]) and found["attention"].y[2] == 20_000
    assert found["rest"].customdata[1] == "rest: 50 multiply-adds"
    assert [shape.x0 for shape in figure.layout.shapes] == [10]  # what lies beyond the axis is not marked
    assert figure.layout.annotations[0].x == 1  # by the logarithm
    held = cost_curves(lengths, {"w": np.array([2**20] * 3)}, hues=hues[:1], title="x", unit="", in_bytes=True)
    assert held.data[0].customdata[0] == "w: 1.00 MiB" and "1 MiB" in held.layout.yaxis.ticktext


def test_shares_of_the_cost_fill_the_whole():
    parts = {"a": np.array([1, 3]), "b": np.array([3, 1])}
    figure = share_areas([1, 2], parts, hues=[*COST_HUES.values()][:2], title="x")
    np.testing.assert_allclose(sum(np.array(trace.y) for trace in figure.data), [1, 1])
    assert figure.data[0].customdata[1] == "a: 75.0%"
