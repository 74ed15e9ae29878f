"""One measure over many texts: where each text lies, and the mean."""

import json
from typing import Any

import numpy as np
import pytest
from plotly.graph_objects import Figure, Scatter

from transformer_core.figures import DARK, LIGHT
from transformer_core.figures.bars.spread import texts_spread
from transformer_core.figures.labels import text_width

VALUES = np.array([0.1, 0.5, np.nan, 0.5, 0.9])
TEXTS = ["one", "two <b>", "three", "four", "five"]


def figure(values: np.ndarray = VALUES, **more: Any) -> Figure:
    texts = TEXTS if len(values) == 5 else ["x"] * len(values)
    return texts_spread(values, texts, measure="previous token", unit="of its attention", **more)


def points(drawn: Figure, name: str = "texts") -> Scatter:
    (found,) = (trace for trace in drawn.data if trace.name == name)
    return found


def test_each_text_is_a_point_at_its_value_and_equal_ones_are_stacked():
    found = points(figure())
    assert list(found.x) == [0.1, 0.5, 0.5, 0.9]
    assert list(found.y) == [0.5, 0.5, 1.5, 0.5]


@pytest.mark.parametrize("n", [0, 1, 30, 300])
def test_no_two_points_lie_on_each_other_and_all_are_seen(n: int):
    drawn = figure(np.random.default_rng(n).random(n).round(2))
    found = points(drawn)
    assert len(set(zip(found.x, found.y, strict=True))) == n
    assert all(0 < y < drawn.layout.yaxis.range[1] for y in found.y)
    low, high = drawn.layout.xaxis.range
    assert all(low < x < high for x in found.x)


@pytest.mark.parametrize(("n", "size"), [(5, 7), (15, 7), (40, 2.5), (500, 2)])
def test_points_are_as_large_as_the_highest_stack_has_room_for(n: int, size: float):
    drawn = figure(np.full(n, 0.5))
    room = drawn.layout.height - drawn.layout.margin.t - drawn.layout.margin.b
    assert points(drawn).marker.size == pytest.approx(size)
    assert size * n <= room or size == 2
    assert drawn.layout.yaxis.range == (0, n + 1)


def test_points_that_would_touch_are_stacked():
    px = 1 / (560 - 2 * 16)
    drawn = points(figure(np.array([24.5, 31.5, 32.5, 28.0]) * px))
    assert list(drawn.y) == [0.5, 2.5, 0.5, 1.5]  # from left to right; 8 px make a stack


def test_hover_tells_the_text():
    assert points(figure()).customdata[1] == "text 1: 0.50 of its attention<br>two &lt;b&gt;"
    long = texts_spread(np.array([0.5]), ["word " * 300], measure="x")
    assert 100 < len(points(long).customdata[0]) < 300


def test_the_mean_and_the_levels_are_lines_with_labels():
    drawn = figure(levels={"shuffled <tokens>": 0.25})
    assert sorted(shape.x0 for shape in drawn.layout.shapes) == [0.25, 0.5]
    assert [note.text for note in drawn.layout.annotations] == ["shuffled &lt;tokens&gt; 0.25", "<b>mean</b> 0.50"]
    assert not figure(np.full(5, np.nan)).layout.shapes


@pytest.mark.parametrize("limits", [(0, 1), (-3, 5)])
@pytest.mark.parametrize(
    ("level", "mean"), [(0.0, 1.0), (0.3, 0.465), (0.55, 0.5), (0.5, 0.5), (0.7, 0.86), (1.0, 0.97)]
)
def test_labels_stand_at_their_lines_and_never_touch(level: float, mean: float, limits: tuple[int, int]):
    drawn = texts_spread(np.full(2, mean), ["a", "b"], measure="x", levels={"mean of <B>": level}, limits=limits)
    margin, (low, high) = drawn.layout.margin, drawn.layout.xaxis.range
    room = 560 - margin.l - margin.r
    spans = []
    for x, label in zip(sorted([level, mean]), drawn.layout.annotations, strict=True):
        half = text_width("mean 0.00" if "<b>" in label.text else "mean of <B> 0.00") / 2
        at_line = min(max((x - low) / (high - low) * room, half), room - half)
        assert label.x * room == pytest.approx(at_line)
        assert label.xanchor == "center"  # plotly's own choice would be beside the line in the outer thirds
        spans.append((at_line - half, at_line + half, label.yshift))
    (_, end, first), (begin, _, second) = spans
    assert (first, second) == (0, 0 if begin > end + 6 else 14)


def test_title_and_axis_say_what_was_measured_and_what_was_not():
    layout = figure().layout
    assert layout.title.text == "Previous token, over 5 texts"
    assert layout.title.subtitle.text == "1 of the texts cannot be measured."
    assert layout.xaxis.title.text == "Previous token (of its attention)"
    assert figure(title="<i>").layout.title.text == "&lt;i&gt;"


def test_the_range_is_fixed_and_nothing_falls_off_it():
    low, high = figure().layout.xaxis.range
    assert low == pytest.approx(-0.02) and high == pytest.approx(1.02)
    assert figure(3 * VALUES).layout.xaxis.range[1] > 2.7
    low, high = figure(VALUES + 4, limits=None).layout.xaxis.range
    assert 4 < low < 4.1 and 4.9 < high < 5
    assert all(np.isfinite(figure(np.full(3, 2.0), limits=None).layout.xaxis.range))


def test_the_chosen_text_is_marked():
    mark = points(figure(chosen=3), "chosen")
    assert (list(mark.x), list(mark.y)) == ([0.5], [1.5])
    assert mark.customdata[0].startswith("text 3: 0.50")
    assert not [trace for trace in figure(chosen=2).data if trace.name == "chosen"]  # it was not measured


def test_each_text_has_its_value():
    with pytest.raises(ValueError, match="5 values and 4 texts"):
        texts_spread(VALUES, TEXTS[:4], measure="x")


def test_input_is_not_changed_and_the_theme_is_only_in_the_template():
    before = VALUES.copy()
    light, dark = (figure(chosen=1, levels={"a": 0.2}, theme=theme).to_plotly_json() for theme in (LIGHT, DARK))
    np.testing.assert_array_equal(VALUES, before)
    assert light["layout"].pop("template") != dark["layout"].pop("template")
    assert json.dumps(light, default=str) == json.dumps(dark, default=str)
