"""Bars over labels."""

import numpy as np

from headlight.figures.bars.label_bars import label_bars


def draw(bars, labels=("a", "a", "<b>"), **more):
    return label_bars(bars, labels, title="T", label_name="word", value_name="probability", **more)


def test_bars_have_the_heights_and_repeated_labels_stay_apart():
    figure = draw({"": np.array([0.5, -0.25, -np.inf])})
    bars = figure.data[0]
    assert list(bars.x) == [0, 1, 2]
    assert list(bars.y[:2]) == [0.5, -0.25]
    assert np.isnan(bars.y[2])
    assert list(bars.customdata) == ["a: 0.500", "a: −0.250", "&lt;b&gt;: −∞"]
    low, high = figure.layout.yaxis.range
    assert -0.5 < low < -0.25 and 0.5 < high < 0.7 and figure.layout.xaxis.range == (-0.5, 2.5)
    assert draw({"": np.array([0.5, 0.25, 0.125])}).layout.yaxis.range[0] == 0  # bars stand on the end of the axis


def test_two_kinds_are_told_apart():
    figure = draw({"one": np.ones(3), "two": np.zeros(3)}, limits=(0.0, 1.0))
    assert [trace.name for trace in figure.data] == ["one", "two"]
    assert figure.data[0].marker.color != figure.data[1].marker.color
