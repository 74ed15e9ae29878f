"""What moves, as two matrices on one scale."""

from typing import Any

import numpy as np
import pytest

from transformer_core.figures.heatmaps.mask_moved import in_words, moved_pair

HOVER = "{column} {column_label} > {row} {row_label}: {value}"


def drawn(left: np.ndarray, right: np.ndarray, **options: Any):
    return moved_pair(
        (left, right),
        titles=("own", "other"),
        rows=["a", "<b>"],
        columns=["a", "<b>"],
        row_name="output",
        column_name="changed",
        hover=HOVER,
        chosen=1,
        title="What moves",
        **options,
    )


def test_zero_is_told_from_little_and_both_share_a_scale():
    left = np.array([[2.0, 0.0], [0.01, 1.0]], dtype=np.float32)
    right = np.array([[1.0, 4.0], [np.nan, 3.0]], dtype=np.float32)
    figure = drawn(left, right)
    still, moving, other_still, other_moving = (trace for trace in figure.data if trace.type == "heatmap")
    np.testing.assert_array_equal(np.isfinite(still.z), left == 0)
    np.testing.assert_array_equal(np.nan_to_num(np.asarray(moving.z)), left)
    assert not np.isfinite(np.asarray(other_still.z)).any()
    np.testing.assert_array_equal(np.nan_to_num(np.asarray(other_moving.z)), np.nan_to_num(right))
    assert (figure.layout.coloraxis.cmin, figure.layout.coloraxis.cmax) == (0, 4)
    assert moving.coloraxis == other_moving.coloraxis == "coloraxis" and still.coloraxis == "coloraxis2"
    assert (moving.xaxis, other_moving.xaxis) == ("x", "x2")
    written = {
        (x, y): text
        for trace in figure.data[:4]
        if trace.type == "scatter"
        for x, y, text in zip(trace.x, trace.y, trace.text, strict=True)
    }
    assert written == {(0, 0): "2.0", (1, 0): "0", (0, 1): "≈0", (1, 1): "1.0"}
    assert moving.customdata[1][0] == "0 a > 1 &lt;b&gt;: 0.01"
    assert moving.customdata[0][1].endswith("exactly 0") and other_moving.customdata[1][0] == ""
    assert [annotation.text for annotation in figure.layout.annotations] == ["<b>own</b>", "<b>other</b>"]
    assert len(figure.layout.shapes) == 2 and figure.layout.yaxis.range == (1.5, -0.5)


def test_both_have_a_row_for_each_row_label_and_a_column_for_each_column_label():
    cells = np.arange(6, dtype=np.float32).reshape(2, 3)
    figure = moved_pair(
        (cells, 2 * cells),
        titles=("own", "other"),
        rows=["r0", "r1"],
        columns=["c0", "c1", "c2"],
        row_name="output",
        column_name="changed",
        hover=HOVER,
        chosen=2,
        title="What moves",
    )
    layout = figure.layout
    assert 0 == layout.xaxis.domain[0] < layout.xaxis.domain[1] < layout.xaxis2.domain[0] < layout.xaxis2.domain[1]
    assert layout.xaxis2.domain[1] == pytest.approx(1)
    for number, title in zip(("", "2"), layout.annotations, strict=True):
        x, y = layout[f"xaxis{number}"], layout[f"yaxis{number}"]
        assert x.range == (-0.5, 2.5) and y.range == (1.5, -0.5)
        assert list(x.ticktext) == ["c0", "c1", "c2"] and list(y.ticktext) == ["r0", "r1"]
        assert (title.x, title.y, title.xanchor, title.yanchor) == (x.domain[0], 0, "left", "top")
    assert [(frame.xref, frame.yref) for frame in layout.shapes] == [("x", "y"), ("x2", "y2")]
    for frame in layout.shapes:
        assert (frame.x0, frame.x1, frame.y0, frame.y1) == (1.5, 2.5, -0.5, 1.5)
    assert (layout.xaxis.title.text, layout.yaxis.title.text) == ("<b>changed</b>", "<b>output</b>")
    assert (layout.coloraxis.cmin, layout.coloraxis.cmax) == (0, 10)
    assert figure.data[1].customdata[1][2] == "2 c2 > 1 r1: 5.00"
    assert {trace.xaxis for trace in figure.data if "10.0" in (trace.text or ())} == {"x2"}


def test_rounding_looks_like_zero_and_what_is_not_there_like_neither():
    left = np.array([[0.0, np.nan], [9e-5, 2e-4]], dtype=np.float32)
    figure = drawn(left, left, tolerance=1e-4, subtitle="grey: rounding")
    still, moving = (trace for trace in figure.data if trace.type == "heatmap" and trace.xaxis == "x")
    np.testing.assert_array_equal(np.isfinite(still.z), [[True, False], [True, False]])
    np.testing.assert_array_equal(np.isfinite(moving.z), [[False, False], [False, True]])
    assert still.name == "at most 1e-4 (rounding)" and figure.layout.title.subtitle.text == "grey: rounding"
    dots = [trace for trace in figure.data if trace.type == "scatter" and trace.mode == "markers"]
    assert [(*dot.x, *dot.y) for dot in dots] == [(1, 0), (1, 0)]
    texts = [trace for trace in figure.data[:4] if trace.type == "scatter"]
    written = {(x, y): text for trace in texts for x, y, text in zip(trace.x, trace.y, trace.text, strict=True)}
    assert written == {(0, 0): "0", (0, 1): "0", (1, 1): "≈0"}


def test_all_tokens_are_named_and_the_browser_is_told_which_must_be():
    tokens = [f"token{number}" for number in range(40)]
    matrix = np.zeros((40, 40), dtype=np.float32)
    layout = moved_pair(
        (matrix, matrix),
        titles=("own", "other"),
        rows=tokens,
        columns=tokens,
        row_name="output",
        column_name="changed",
        hover=HOVER,
        chosen=37,
        title="What moves",
    ).layout
    for axis in (layout.xaxis, layout.xaxis2, layout.yaxis):
        assert list(axis.tickvals) == list(range(40)) and list(axis.ticktext) == tokens
    assert layout.meta["chosen"] == {"xaxis": 37, "xaxis2": 37}


def test_nothing_at_all_has_a_scale():
    assert drawn(np.zeros((2, 2), dtype=np.float32), np.zeros((2, 2), dtype=np.float32)).layout.coloraxis.cmax == 1


def test_labels_must_fit():
    with pytest.raises(ValueError, match="2 row labels and 2 column labels, but a matrix of 3 by 2"):
        drawn(np.zeros((3, 2), dtype=np.float32), np.zeros((3, 2), dtype=np.float32))


@pytest.mark.parametrize(
    ("value", "words"), [(0.0, "exactly 0"), (2e-6, "2e-6"), (0.0049, "5e-3"), (0.005, "0.01"), (1.234, "1.23")]
)
def test_none_looks_like_zero_that_is_not(value: float, words: str):
    assert in_words(value) == words
