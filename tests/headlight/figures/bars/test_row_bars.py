"""One query's row: a bar a key, in the order of the text."""

from dataclasses import replace
from typing import Any

import numpy as np
from plotly.graph_objects import Bar, Figure

from headlight.figures import TokenGrid, row_bars

ROW = np.array([0.5, 0.25, 0.25, 0.0])
GRID = TokenGrid(["sat"], ("the", "<cat>", "the", "mat"), first_query=3)
ALLOWED = np.array([True, True, True, False])


def figure(values: np.ndarray = ROW, grid: TokenGrid = GRID, **more: Any) -> Figure:
    return row_bars(values, grid, **{"mask": ALLOWED} | more)


def bars(drawn: Figure) -> Bar:
    (actual,) = (trace for trace in drawn.data if trace.type == "bar")
    return actual


def test_a_bar_for_each_key_with_title_and_words():
    drawn = figure()
    np.testing.assert_array_equal(bars(drawn).y[:3], ROW[:3])
    assert np.isnan(bars(drawn).y[3]) and bars(drawn).base == 0
    assert drawn.layout.yaxis.range[0] == 0 and 1 < drawn.layout.yaxis.range[1] < 1.2
    assert list(drawn.layout.xaxis.ticktext) == ["the", "&lt;cat&gt;", "the", "mat"]


def test_forbidden_keys_are_neutral_and_not_zeros():
    (ground,) = (trace for trace in figure().data if trace.type == "heatmap")
    assert ground.coloraxis == "coloraxis2"
    np.testing.assert_array_equal(np.isfinite(ground.z[0]), ~ALLOWED)
    assert ground.customdata[0][3] == "query 3 'sat' → key 3 'mat': masked"
    assert not [trace for trace in figure(mask=None).data if trace.type == "heatmap"]


def test_each_number_stands_above_its_own_bar_where_there_are_few():
    assert list(bars(figure()).text) == [".50", ".25", ".25", ""]
    window = figure(np.array([0.1, 0.2, 0.3, 0.4]), mask=np.array([False, True, False, True]))
    assert list(bars(window).text) == ["", ".20", "", ".40"]
    np.testing.assert_array_equal(bars(window).y, [np.nan, 0.2, np.nan, 0.4])


def test_a_window_keeps_the_places_and_a_chosen_key_has_a_frame():
    drawn = figure(grid=replace(GRID, first_key=20, marked=(None, 21)))
    assert list(bars(drawn).x) == [20, 21, 22, 23]
    assert "key 22 'the'" in bars(drawn).customdata[2]
    (frame,) = drawn.layout.shapes
    assert (frame.x0, frame.x1) == (20.5, 21.5)
    assert not figure(grid=replace(GRID, marked=(None, 99))).layout.shapes


def test_scores_go_both_ways_and_powers_of_ten_start_at_the_least():
    scores = figure(np.array([1.0, -2.0, 0.5, -np.inf]), quantity="scores", mask=None)
    np.testing.assert_array_equal(bars(scores).y[:3], [1, -2, 0.5])
    low, high = scores.layout.yaxis.range
    assert low < -2 and high > 2 and low == -high
    assert bars(scores).customdata[1].endswith("score −2.00")
    log = figure(np.array([0.1, 0.01, 1e-7, 0.0]), quantity="log")
    np.testing.assert_allclose(np.array(bars(log).base) + bars(log).y[:3], [-1, -2, -4])
    assert log.layout.yaxis.ticktext[0] == "1"
