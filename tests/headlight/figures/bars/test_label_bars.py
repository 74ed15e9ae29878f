"""Bars over labels."""

from typing import Any

import numpy as np
import pytest
from plotly.graph_objects import Figure

from headlight.figures.bars.label_bars import blank_bars, label_bars


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


PROBABILITIES = [np.array([0.7, 0.2, 0.001]), np.array([0.5, 0.0002]), np.array([0.9])]
TOKENS = [["ball", "<b>", "a rather long word"], ["kite", "ball"], ["שלום"]]
NAMES = ["blank 1", "blank 2", "blank <3>"]
ENTROPIES = np.array([0.81, 1.2, 0.3])


def figure(n: int = 3, **more: Any) -> Figure:
    return blank_bars(PROBABILITIES[:n], TOKENS[:n], names=NAMES[:n], entropies=ENTROPIES[:n], **more)


def test_a_panel_for_each_blank_with_a_bar_for_each_token():
    drawn = figure()
    for bars, values in zip(drawn.data, PROBABILITIES, strict=True):
        np.testing.assert_array_equal(bars.x, values)
        assert list(bars.y) == [*range(len(values))] and bars.orientation == "h"
    assert [bars.xaxis for bars in drawn.data] == ["x", "x2", "x3"]


def test_labels_numbers_and_words_of_the_next_one_and_of_filled_ones():
    drawn = figure()
    assert list(drawn.layout.yaxis.ticktext) == ["ball", "&lt;b&gt;", "a rather lon\u2026"]
    assert list(drawn.layout.yaxis3.ticktext) == ["\u2068שלום\u2069"]
    assert list(drawn.data[0].text) == ["0.70", "0.20", "< 0.01"]
    assert "probability below 0.001" in drawn.data[1].customdata[1]
    drawn = figure(next_one=1, filled={2})
    assert ["filled" in note.text for note in drawn.layout.annotations] == [False, False, True]
    assert ["next" in note.text for note in drawn.layout.annotations] == [False, True, False]


@pytest.mark.parametrize(("n", "width"), [(1, 450), (2, 1600), (7, 1000), (24, 200)])
def test_no_two_panels_lie_on_each_other(n: int, width: int):
    one = np.array([0.5, 0.2])
    drawn = blank_bars([one] * n, [["a", "b"]] * n, names=["x"] * n, entropies=np.ones(n), width=width)
    boxes = []
    for i in range(n):
        number = i + 1 if i else ""
        (left, right), (low, high) = (drawn.layout[f"{axis}axis{number}"].domain for axis in "xy")
        assert 0 <= left < right <= 1 and 0 <= low < high <= 1
        boxes.append((left, right, low, high))
    for (left, *_, high), header in zip(boxes, drawn.layout.annotations, strict=True):
        assert header.x == left and header.y > high
    for i, (left, right, low, high) in enumerate(boxes):
        for other_left, other_right, other_low, other_high in boxes[:i]:
            assert right <= other_left or other_right <= left or high <= other_low or other_high <= low
