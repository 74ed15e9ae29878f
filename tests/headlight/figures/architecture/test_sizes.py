"""Parameters by part, their shares, and costs over the length of a text."""

import numpy as np

from headlight.figures.architecture.sizes import cost_curves, parameter_bars, parameter_shares, share_areas
from headlight.figures.theme import COST_HUES, PART_HUES


def traces_of(figure: object) -> dict:
    return {trace.name: trace for trace in figure.data}  # type: ignore[attr-defined]


def test_bars_of_parameters_are_in_order_and_said_with_their_share():
    counts = {("encoder", "self-attention"): 3000, ("", "last layer"): 1000}
    figure = parameter_bars(counts, title="Parameters")
    (bars,) = figure.data
    assert list(bars.x) == [3000, 1000] and list(bars.text) == ["3.0 k · 75.0%", "1.0 k · 25.0%"]
    assert list(figure.layout.yaxis.ticktext) == ["self-attention (encoder)", "last layer"]
    assert list(bars.marker.color) == [PART_HUES["self-attention"], PART_HUES["last layer"]]
    assert bars.customdata[0] == "self-attention (encoder): 3,000 parameters"


def test_shares_of_each_model_add_up_to_one():
    models = {"<a>": {"feed-forward": 3, "positions": 1}, "b": {"feed-forward": 5}}
    figure = parameter_shares(models, title="Shares")
    total = sum(np.array(trace.x) for trace in figure.data)
    np.testing.assert_allclose(total, [1, 1])
    actual = traces_of(figure)
    np.testing.assert_allclose([actual["feed-forward"].x, actual["positions"].x], [[0.75, 1], [0.25, 0]])
    assert len(figure.data) == 2  # parts that no model has are left out


def test_costs_are_drawn_over_the_length():
    lengths = [1, 10, 100]
    curves = {"attention": np.array([0, 200, 20_000]), "rest": np.array([5, 50, 500])}
    hues = [*COST_HUES.values()][:2]
    figure = cost_curves(lengths, curves, hues=hues, title="x", unit="multiply-adds", marks={"here": 10, "far": 5000})
    actual = traces_of(figure)
    assert np.isnan(actual["attention"].y[0]) and actual["attention"].y[2] == 20_000
    assert actual["rest"].customdata[1] == "rest: 50 multiply-adds"
    assert [shape.x0 for shape in figure.layout.shapes] == [10]  # a size beyond the axis is not marked
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
