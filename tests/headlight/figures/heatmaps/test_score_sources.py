"""Scores as a sum: a matrix for each part, all on one scale, and bars of their shares."""

import numpy as np
import pytest

from headlight.figures import Figure, TokenGrid
from headlight.figures.heatmaps.score_sources import MOST_SOURCES, part_shares, position_parts, score_sources_heatmap

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


CELLS = np.array([[3.0, -1.5, 0.25], [0.5, 0.0, -4.0]])
ROWS, COLUMNS = ("token", "<position>"), ("token", "position", "L0.H1")


def drawn(values: np.ndarray = CELLS, rows=ROWS, columns=COLUMNS, **options) -> Figure:
    return score_sources_heatmap(values, rows, columns, query="query 7 'it'", key="key 1 '<b>'", title="Why", **options)


def test_cells_and_their_sums_are_the_parts_of_the_score():
    z = drawn().data[0].z
    np.testing.assert_array_equal(z[:2, :3], CELLS.astype(np.float32))
    np.testing.assert_array_equal(z[:2, 3], [1.75, -3.5])
    np.testing.assert_array_equal(z[2], [3.5, -1.5, -3.75, -1.75])
    axis = drawn().layout.coloraxis3
    assert (axis.cmin, axis.cmax) == (-4.0, 4.0)


def test_rows_are_the_querys_sources_and_hover_is_in_words():
    figure = drawn()
    assert figure.layout.yaxis.title.text == "source of query 7 'it'"
    assert figure.layout.xaxis.title.text == "source of key 1 '&lt;b&gt;'"
    assert figure.layout.yaxis.ticktext == ("token", "&lt;position&gt;", "<b>total</b>")
    text = figure.data[0].customdata[1][2]
    assert text == "query 7 'it': &lt;position&gt;<br>key 1 '&lt;b&gt;': L0.H1<br>\u22124.00"


def test_numbers_stand_in_all_cells():
    pale, deep = (trace for trace in drawn().data if trace.type == "scatter")
    written = {(y, x): text for trace in (pale, deep) for x, y, text in zip(trace.x, trace.y, trace.text, strict=True)}
    assert [[float(written[row, column].replace("\u2212", "-")) for column in range(4)] for row in range(3)] == [
        [3, -1.5, 0.25, 1.75],
        [0.5, 0, -4, -3.5],
        [3.5, -1.5, -3.75, -1.75],
    ]


def test_of_many_sources_the_largest_are_drawn_and_nothing_is_lost():
    random = np.random.default_rng(0)
    values = random.normal(size=(40, 30))
    values[37, 4] = 50.0
    names = [f"L{place // 4}.H{place % 4}" for place in range(40)]
    z = drawn(values, names, names[:30]).data[0].z
    assert z.shape == (MOST_SOURCES + 1, MOST_SOURCES + 1)
    np.testing.assert_allclose(z[:-1, :-1].sum(), values.sum(), rtol=1e-5)
    np.testing.assert_allclose(z[-1, -1], values.sum(), rtol=1e-5)
    ticks = drawn(values, names, names[:30]).layout.yaxis.ticktext
    assert "L9.H1" in ticks and ticks[-2] == "29 others"
    assert [name for name in names if name in ticks] == [tick for tick in ticks if tick in names]  # in their order
