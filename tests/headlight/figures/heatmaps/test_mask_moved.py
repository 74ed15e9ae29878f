"""What moves, as two matrices on one scale."""

import numpy as np
import pytest

from headlight.figures import TokenGrid
from headlight.figures.heatmaps.mask_moved import in_words, moved_pair

HOVER = "{column} {column_label} > {row} {row_label}: {value}"


def drawn(left: np.ndarray, right: np.ndarray):
    grid = TokenGrid(["a", "<b>"], ["a", "<b>"], query_name="output", key_name="changed", marked=(None, 1))
    return moved_pair((left, right), grid, hover_form=HOVER, titles=("own", "other"), title="Changes")


def test_zero_is_told_from_little_and_both_share_a_scale():
    left = np.array([[2.0, 0.0], [0.01, 1.0]], dtype=np.float32)
    right = np.array([[1.0, 4.0], [0.5, 3.0]], dtype=np.float32)
    figure = drawn(left, right)
    still, moving, other_still, other_moving = (trace for trace in figure.data if trace.type == "heatmap")
    np.testing.assert_array_equal(np.isfinite(still.z), left == 0)
    np.testing.assert_array_equal(np.nan_to_num(np.asarray(moving.z)), left)
    assert not np.isfinite(np.asarray(other_still.z)).any()
    np.testing.assert_array_equal(np.nan_to_num(np.asarray(other_moving.z)), right)
    assert (figure.layout.coloraxis.cmin, figure.layout.coloraxis.cmax) == (0, 4)
    assert moving.coloraxis == other_moving.coloraxis == "coloraxis" and still.coloraxis == "coloraxis2"
    written = {
        (x, y): text
        for trace in figure.data[:4]
        if trace.type == "scatter"
        for x, y, text in zip(trace.x, trace.y, trace.text, strict=True)
    }
    assert written == {(0, 0): "2.0", (1, 0): "0", (0, 1): "≈0", (1, 1): "1.0"}
    assert moving.customdata[1][0] == "0 a > 1 &lt;b&gt;: 0.01"
    assert moving.customdata[0][1].endswith("exactly 0")


@pytest.mark.parametrize(
    ("value", "words"), [(0.0, "exactly 0"), (2e-6, "2e-6"), (0.0049, "5e-3"), (0.005, "0.01"), (1.234, "1.23")]
)
def test_none_looks_like_zero_that_is_not(value: float, words: str):
    assert in_words(value) == words
