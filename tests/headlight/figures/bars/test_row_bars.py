"""One query's row: a bar a key, in the order of the text."""

from typing import Any

import numpy as np
from plotly.graph_objects import Bar, Figure

from headlight.figures.bars.row_bars import row_bars

ROW = np.array([0.5, 0.25, 0.25, 0.0])
KEYS = ("the", "<cat>", "the", "mat")
ALLOWED = np.array([True, True, True, False])


def figure(values: np.ndarray = ROW, **more: Any) -> Figure:
    return row_bars(values, KEYS, query=3, query_token="sat", **{"allowed": ALLOWED} | more)


def bars(drawn: Figure) -> Bar:
    (found,) = (trace for trace in drawn.data if trace.type == "bar")
    return found


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
    assert not [trace for trace in figure(allowed=None).data if trace.type == "heatmap"]


def test_each_number_stands_above_its_own_bar_where_there_are_few():
    assert list(bars(figure()).text) == [".50", ".25", ".25", ""]
    window = figure(np.array([0.1, 0.2, 0.3, 0.4]), allowed=np.array([False, True, False, True]))
    assert list(bars(window).text) == ["", ".20", "", ".40"]
    np.testing.assert_array_equal(bars(window).y, [np.nan, 0.2, np.nan, 0.4])


def test_a_window_keeps_the_places_and_a_chosen_key_has_a_frame():
    drawn = figure(first_key=20, chosen=21)
    assert list(bars(drawn).x) == [20, 21, 22, 23]
    assert "key 22 'the'" in bars(drawn).customdata[2]
    (frame,) = drawn.layout.shapes
    assert (frame.x0, frame.x1) == (20.5, 21.5)
    assert not figure(chosen=99).layout.shapes


def test_scores_go_both_ways_and_powers_of_ten_start_at_the_least():
    scores = figure(np.array([1.0, -2.0, 0.5, -np.inf]), quantity="scores", allowed=None)
    np.testing.assert_array_equal(bars(scores).y[:3], [1, -2, 0.5])
    low, high = scores.layout.yaxis.range
    assert low < -2 and high > 2 and low == -high
    assert bars(scores).customdata[1].endswith("score −2.00")
    log = figure(np.array([0.1, 0.01, 1e-7, 0.0]), quantity="log")
    np.testing.assert_allclose(np.array(bars(log).base) + bars(log).y[:3], [-1, -2, -4])
    assert log.layout.yaxis.ticktext[0] == "1"


def test_other_heads_are_lines_with_names_and_words():
    drawn = figure(others={"layer 0, <head> 1": ROW[::-1].copy()}, name="L1.H2")
    (line,) = (trace for trace in drawn.data if trace.type == "scatter")
    np.testing.assert_array_equal(line.y[:3], ROW[::-1][:3])
    assert line.name == "layer 0, &lt;head&gt; 1" and drawn.layout.showlegend
    assert line.customdata[2] == "<b>layer 0, &lt;head&gt; 1</b><br>query 3 'sat' → key 2 'the': 0.25"
    assert bars(drawn).customdata[0].startswith("<b>L1.H2</b><br>")


def test_the_axis_and_the_ground_have_room_for_all_heads():
    others = {f"L0.H{i}": np.array([1.0, -9.0 - i, 2.0, 99.0]) for i in range(4)}
    drawn = figure(np.array([5.0, -2.0, 0.5, 99.0]), quantity="scores", others=others, first_key=7)
    low, high = drawn.layout.yaxis.range
    assert -14 < low < -12 and high == -low  # what is forbidden does not count
    (ground,) = (trace for trace in drawn.data if trace.type == "heatmap")
    assert ground.x0 == 7 and list(ground.y) == [low, high] and drawn.layout.xaxis.range == (6.5, 10.5)
    lines = [trace for trace in drawn.data if trace.type == "scatter"]
    assert [list(line.x) for line in lines] == [[7, 8, 9, 10]] * 4
