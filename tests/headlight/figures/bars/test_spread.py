"""One measure over many texts: where each text lies, and the mean."""

from typing import Any

import numpy as np
import pytest
from plotly.graph_objects import Figure, Scatter

from headlight.figures.bars.spread import texts_spread

VALUES = np.array([0.1, 0.5, np.nan, 0.5, 0.9])
TEXTS = ["one", "two <b>", "three", "four", "five"]


def figure(values: np.ndarray = VALUES, **more: Any) -> Figure:
    texts = TEXTS if len(values) == 5 else ["x"] * len(values)
    return texts_spread(values, texts, measure="previous token", unit="of its attention", **more)


def points(drawn: Figure, name: str = "texts") -> Scatter:
    (actual,) = (trace for trace in drawn.data if trace.name == name)
    return actual


def test_each_text_is_a_point_at_its_value_and_the_chosen_one_is_marked():
    actual = points(figure())
    assert list(actual.x) == [0.1, 0.5, 0.5, 0.9]
    assert list(actual.y) == [0.5, 0.5, 1.5, 0.5]
    assert points(figure()).customdata[1] == "text 1: 0.50 of its attention<br>two &lt;b&gt;"
    mark = points(figure(chosen=3), "chosen")
    assert (list(mark.x), list(mark.y)) == ([0.5], [1.5])
    assert mark.customdata[0].startswith("text 3: 0.50")
    assert not [trace for trace in figure(chosen=2).data if trace.name == "chosen"]  # it was not measured


@pytest.mark.parametrize("n", [0, 1, 30, 300])
def test_no_two_points_lie_on_each_other_and_all_are_seen(n: int):
    drawn = figure(np.random.default_rng(n).random(n).round(2))
    actual = points(drawn)
    assert len(set(zip(actual.x, actual.y, strict=True))) == n
    assert all(0 < y < drawn.layout.yaxis.range[1] for y in actual.y)
    low, high = drawn.layout.xaxis.range
    assert all(low < x < high for x in actual.x)


def test_the_range_is_fixed_and_nothing_falls_off_it():
    low, high = figure().layout.xaxis.range
    assert low == pytest.approx(-0.02) and high == pytest.approx(1.02)
    assert figure(3 * VALUES).layout.xaxis.range[1] > 2.7
    low, high = figure(VALUES + 4, limits=None).layout.xaxis.range
    assert 4 < low < 4.1 and 4.9 < high < 5
