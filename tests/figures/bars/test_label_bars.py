"""Bars over labels."""

import numpy as np
import pytest

from transformer_core.figures.bars.label_bars import label_bars
from transformer_core.figures.hues import FAINT
from transformer_core.figures.labels import LINE, text_width


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
    assert list(bars.text) == ["0.50", "−0.25", ""]
    assert draw({"": np.array([0.5, 0.25, 0.125])}).layout.yaxis.range[0] == 0  # bars stand on the end of the axis
    assert draw({"": np.zeros(3)}).layout.yaxis.range[1] > 1
    assert list(figure.layout.xaxis.ticktext) == ["a", "a", "&lt;b&gt;"]


def test_two_kinds_are_told_apart_and_named():
    figure = draw({"one": np.ones(3), "two": np.zeros(3)}, limits=(0.0, 1.0))
    assert [trace.name for trace in figure.data] == ["one", "two"]
    assert figure.layout.showlegend
    assert figure.data[0].marker.color[0] != figure.data[1].marker.color[0]
    assert figure.data[1].customdata[0] == "a, two: 0.000"


@pytest.mark.parametrize(
    ("n", "limits", "angle"),
    [(12, None, 0), (13, None, None), (12, (0, 1), 0), (13, (0, 1), -90), (46, (0, 1), -90), (47, (0, 1), None)],
)
def test_numbers_stand_upright_where_they_have_no_room_across(
    n: int, limits: tuple[float, float] | None, angle: int | None
):
    (bars,) = draw({"": np.ones(n)}, labels=["x"] * n, limits=limits, width=60 + 12 * 46).data
    assert bars.text is None if angle is None else (bars.textangle, *bars.text) == (angle, *["1.00"] * n)


@pytest.mark.parametrize(("length", "angle"), [(10, 0), (11, -45)])
def test_labels_that_would_touch_are_slanted(length: int, angle: int):
    assert draw({"": np.ones(3)}, labels=["x" * length] * 3, width=60 + 3 * 70).layout.xaxis.tickangle == angle


def test_a_marked_label_stands_out():
    colors = draw({"": np.ones(3)}, marked=1).data[0].marker.color
    assert [color == FAINT for color in colors] == [True, False, True]


def test_what_does_not_fit_is_refused():
    for bars in ({}, {"": np.ones(2)}, dict.fromkeys("abcd", np.ones(3))):
        with pytest.raises(ValueError, match="one to three kinds of bars"):
            draw(bars)


def test_labels_and_titles_have_their_room_before_plotly_measures_them():
    plain, slanted = (draw({"": np.ones(3)}, labels=[text] * 3, width=200) for text in ("x", "x" * 12))
    for figure in (plain, slanted):
        assert not figure.layout.xaxis.automargin and not figure.layout.yaxis.automargin
    assert plain.layout.margin.b >= LINE + 4 + LINE  # a label, and the title below it
    assert slanted.layout.margin.b - plain.layout.margin.b >= text_width("x" * 12) / 2**0.5 - 4
    assert plain.layout.margin.l >= LINE + text_width("−500k")
