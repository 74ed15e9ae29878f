"""Scores as a sum: a matrix for each part, all on one scale, and bars of their shares."""

import numpy as np
import pytest

from headlight.figures import TokenGrid
from headlight.figures.heatmaps.position_parts import part_shares, position_parts

MASK = np.tril(np.ones((3, 3), dtype=bool))
PARTS = {
    "content → <b>": np.tril(np.arange(9.0).reshape(3, 3)),
    "position": np.tril(np.full((3, 3), -10.0)),
}
SCORES = sum(PARTS.values())
SHARES = {"content → <b>": 1.25, "position": -0.25}
GRID = TokenGrid(["a", "<eos>", "c"], ["a", "<eos>", "c"])


def test_all_matrices_have_one_scale_and_the_sum_is_last():
    figure = position_parts(PARTS, SHARES, SCORES, MASK, GRID, title="T")
    cells = [trace for trace in figure.data if trace.coloraxis == "coloraxis3"]
    for trace, expected in zip(cells, (*PARTS.values(), SCORES), strict=True):
        np.testing.assert_array_equal(np.isnan(trace.z), ~MASK)
        np.testing.assert_array_equal(trace.z[MASK], expected[MASK].astype(np.float32))
    assert (figure.layout.coloraxis3.cmin, figure.layout.coloraxis3.cmax) == (-10, 10)


def test_matrices_do_not_overlap():
    parts = {f"part {number}": np.ones((3, 3)) for number in range(5)}
    figure = position_parts(parts, dict.fromkeys(parts, 0.2), np.full((3, 3), 5.0), MASK, GRID, title="T")
    places = [("", 0), ("2", 0), ("3", 0), ("4", 1), ("5", 1), ("6", 1)]
    across = [figure.layout[f"xaxis{number}"].domain for number, _ in places]
    down = [figure.layout[f"yaxis{number}"].domain for number, _ in places]
    assert [right - left for left, right in across] == pytest.approx([(1 - 2 * 0.03) / 3] * 6)
    for row in (across[:3], across[3:]):
        assert row[0][1] < row[1][0] and row[1][1] < row[2][0]
    assert down[3][1] < down[0][0] and all(0 <= end <= 1 for domain in (*across, *down) for end in domain)


def test_bars_go_both_ways():
    figure = part_shares(SHARES, title="T")
    assert tuple(figure.data[0].x) == (1.25, -0.25)
    assert figure.data[0].customdata[0] == "content → &lt;b&gt;: 125.0 %"
    low, high = figure.layout.xaxis.range
    assert -0.3 < low < -0.25 and 1.25 < high < 1.3 and figure.layout.yaxis.range == (1.5, -0.5)
