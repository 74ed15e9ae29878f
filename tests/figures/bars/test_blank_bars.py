"""The candidates of each blank: a panel a blank, a bar a token."""

import json
from typing import Any

import numpy as np
import pytest
from plotly.graph_objects import Figure

from transformer_core.figures import DARK, LIGHT
from transformer_core.figures.bars.blank_bars import blank_bars

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
    axes = [drawn.layout.xaxis, drawn.layout.xaxis2, drawn.layout.xaxis3]
    assert len({axis.range for axis in axes}) == 1 and axes[0].range[0] == 0 and axes[0].range[1] > 1
    assert drawn.layout.yaxis.range[0] > drawn.layout.yaxis.range[1]  # the best one on top
    assert [bars.xaxis for bars in drawn.data] == ["x", "x2", "x3"]


def test_labels_numbers_and_words():
    drawn = figure()
    assert list(drawn.layout.yaxis.ticktext) == ["ball", "&lt;b&gt;", "a rather lon\u2026"]
    assert list(drawn.layout.yaxis3.ticktext) == ["\u2068שלום\u2069"]
    assert list(drawn.data[0].text) == ["0.70", "0.20", "< 0.01"]
    assert list(drawn.data[0].customdata)[:2] == [
        "blank 1: 'ball', probability 0.700<br>most probable",
        "blank 1: '&lt;b&gt;', probability 0.200<br>rank 1",
    ]
    assert "probability below 0.001" in drawn.data[1].customdata[1]
    assert "a rather long word" in drawn.data[0].customdata[2]
    headers = [note.text for note in drawn.layout.annotations]
    assert "<b>blank 1</b>" in headers[0] and "entropy 0.81 nats" in headers[0] and "blank &lt;3&gt;" in headers[2]
    assert figure(title="<i>").layout.title.text == "&lt;i&gt;"


def test_no_number_looks_like_zero_or_is_said_to_be_below_what_it_is():
    values = np.array([0.005, 0.0049, 0.0005, 0.00049])
    (bars,) = blank_bars([values], [["a", "b", "c", "d"]], names=["x"], entropies=np.ones(1)).data
    assert list(bars.text) == ["0.01", "< 0.01", "< 0.01", "< 0.01"]
    said = [text.partition(", ")[2].partition("<br>")[0] for text in bars.customdata]
    assert said == ["probability 0.005", "probability 0.005", "probability 0.001", "probability below 0.001"]


def test_the_next_one_stands_out():
    drawn = figure(next_one=1)
    assert ["next" in note.text for note in drawn.layout.annotations] == [False, True, False]
    colors = [bars.marker.color for bars in drawn.data]
    assert colors[0] == colors[2] != colors[1]
    assert not any("next" in note.text for note in figure().layout.annotations)


def test_filled_ones_stay_in_their_places_and_are_grey():
    drawn = figure(next_one=1, filled={2})
    assert ["filled" in note.text for note in drawn.layout.annotations] == [False, False, True]
    assert len({bars.marker.color for bars in drawn.data}) == 3
    assert drawn.layout.xaxis3.domain == figure().layout.xaxis3.domain


@pytest.mark.slow
@pytest.mark.parametrize("width", [200, 450, 1000, 1600])
@pytest.mark.parametrize("n", [1, 2, 7, 24])
def test_no_two_panels_lie_on_each_other(n: int, width: int):
    one = np.array([0.5, 0.2])
    drawn = blank_bars([one] * n, [["a", "b"]] * n, names=["x"] * n, entropies=np.ones(n), width=width)
    boxes = []
    for i in range(n):
        number = i + 1 if i else ""
        (left, right), (low, high) = (drawn.layout[f"{axis}axis{number}"].domain for axis in "xy")
        assert 0 <= left < right <= 1 and 0 <= low < high <= 1
        boxes.append((left, right, low, high))
    n_across = sum(high == boxes[0][3] for *_, high in boxes)
    for i, ((left, _, low, high), header) in enumerate(zip(boxes, drawn.layout.annotations, strict=True)):
        down, across = divmod(i, n_across)  # in rows
        assert (left, high) == pytest.approx((boxes[across][0], boxes[down * n_across][3]))
        room = drawn.layout.height - drawn.layout.margin.t - drawn.layout.margin.b
        assert header.x == left and 36 < (header.y - high) * room < 50  # two lines, right above its panel
        assert header.y == pytest.approx(1) if down == 0 else header.y < boxes[i - n_across][2]
        assert (high - low) * room == pytest.approx(2 * 22)
        assert left * width > (0 if across == 0 else boxes[i - 1][1] * width) + 90  # px, for the tokens
    for i, (left, right, low, high) in enumerate(boxes):
        for other_left, other_right, other_low, other_high in boxes[:i]:
            assert right <= other_left or other_right <= left or high <= other_low or other_high <= low
    assert drawn.layout.height < 100 * n + 120
    assert figure(height=333).layout.height == 333


def test_all_must_fit():
    with pytest.raises(ValueError, match="0 blanks"):
        blank_bars([], [], names=[], entropies=np.zeros(0))
    with pytest.raises(ValueError, match="3 blanks with 6 candidates, 5 labels"):
        blank_bars(PROBABILITIES, [*TOKENS[:2], []], names=NAMES, entropies=ENTROPIES)
    with pytest.raises(ValueError, match="2 names"):
        blank_bars(PROBABILITIES, TOKENS, names=NAMES[:2], entropies=ENTROPIES)


def test_input_is_not_changed_and_the_theme_is_only_in_the_template():
    before = [values.copy() for values in PROBABILITIES]
    light, dark = (figure(next_one=0, filled={1}, theme=theme).to_plotly_json() for theme in (LIGHT, DARK))
    for values, kept in zip(PROBABILITIES, before, strict=True):
        np.testing.assert_array_equal(values, kept)
    assert light["layout"].pop("template") != dark["layout"].pop("template")
    assert json.dumps(light, default=str) == json.dumps(dark, default=str)
