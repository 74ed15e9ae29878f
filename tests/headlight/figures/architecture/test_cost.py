"""Costs over the length of a text, as figures."""

import numpy as np

from headlight.figures.architecture.cost import cost_curves, share_areas
from headlight.figures.architecture.hues import COST_HUES


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
    low, high = 10 ** np.array(figure.layout.yaxis.range)
    assert 2.5 < low < 5 and 20_000 < high < 40_000
    assert figure.layout.xaxis.range == (0, 2)


def test_ticks_of_bytes_are_right_and_no_more_than_have_room():
    for powers in ((0, 3), (5, 25), (0, 48)):
        values = 2.0 ** np.array(powers)
        axis = cost_curves([1, 9], {"w": values}, hues=["#000000"], title="x", unit="", in_bytes=True).layout.yaxis
        assert 2 <= len(axis.tickvals) <= 7
        assert axis.tickvals[0] >= values[0] / 2 and axis.tickvals[-1] <= 2 * values[1]
        for value, text in zip(axis.tickvals, axis.ticktext, strict=True):
            number, unit = text.split()
            assert int(number) * 1024 ** ["B", "KiB", "MiB", "GiB", "TiB"].index(unit) == value


def test_shares_of_the_cost_fill_the_whole():
    parts = {"a": np.array([1, 3]), "b": np.array([3, 1])}
    figure = share_areas([1, 2], parts, hues=[*COST_HUES.values()][:2], title="x")
    np.testing.assert_allclose(sum(np.array(trace.y) for trace in figure.data), [1, 1])
    assert figure.data[0].customdata[1] == "a: 75.0%" and figure.layout.yaxis.range == (0, 1)
    assert {trace.stackgroup for trace in figure.data} == {"shares"}
