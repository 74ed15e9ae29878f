"""One step in all heads: a row a head, a column a key."""

from typing import Any

import numpy as np
from plotly.graph_objects import Figure, Heatmap

from headlight.figures.bars.step_rows import layer_rows, step_rows
from headlight.figures.theme import KEY, QUERY

ROWS = np.array([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.25, 0.625, 0.125]])
KEYS = ("the", "<cat>", "the")
HEADS = ("1.0", "1.1", "mean")


def figure(**more: Any) -> Figure:
    return step_rows(ROWS, KEYS, HEADS, **{"title": "Where it looks"} | more)


def cells(drawn: Figure) -> Heatmap:
    (found,) = (trace for trace in drawn.data if trace.type == "heatmap")
    return found


def test_rows_from_top_to_bottom_on_a_fixed_range():
    drawn = figure()
    np.testing.assert_array_equal(cells(drawn).z, ROWS.astype(np.float32))
    assert (drawn.layout.coloraxis.cmin, drawn.layout.coloraxis.cmax) == (0, 1)
    assert list(drawn.layout.yaxis.ticktext) == [*HEADS] and drawn.layout.yaxis.range == (2.5, -0.5)


def test_a_line_sets_the_mean_apart_and_frames_mark_what_is_chosen():
    (line,) = figure().layout.shapes
    assert line.type == "line" and line.y0 == line.y1 == 1.5
    line, row, column, cell = figure(chosen=0, key=2, n_keys=8).layout.shapes
    assert (row.line.color, column.line.color) == (QUERY, KEY)
    assert (line.x0, line.x1) == (row.x0, row.x1) == (-0.5, 7.5) and (row.y0, row.y1) == (-0.5, 0.5)
    assert (column.x0, column.x1, column.y0, column.y1) == (1.5, 2.5, -0.5, 2.5)
    assert (cell.x0, cell.x1, cell.y0, cell.y1) == (1.5, 2.5, -0.5, 0.5)


def test_of_many_cells_the_browser_composes_the_words():
    n = 500
    many = np.full((12, n), 1 / n)
    drawn = step_rows(many, ["x"] * n, [f"3.{head}" for head in range(11)] + ["mean"], title="x")
    assert cells(drawn).customdata is None and cells(drawn).meta == "words"
    told = drawn.layout.meta["words"]
    assert told["queries"][2] == "head 3.2" and told["queries"][-1] == "mean of these rows"
    assert told["keys"][4] == "key 4 'x'" and told["format"] == ".2f"


def test_heads_of_a_layer_or_all_layers_with_their_mean():
    patterns = np.random.default_rng(0).dirichlet(np.ones(5), size=(3, 4))  # [layer, head, key]
    rows = layer_rows(patterns, layer=1, head=2, mean="")
    np.testing.assert_array_equal(rows.values[:4], patterns[1])
    np.testing.assert_allclose(rows.values[4], sum(patterns[1]) / 4)
    assert (rows.labels[1], rows.labels[4], rows.chosen, rows.name) == ("L1.H1", "mean", 2, "head")
    rows = layer_rows(patterns, layer=1, head=2, mean="all")
    np.testing.assert_allclose(rows.values, [*(sum(of_layer) / 4 for of_layer in patterns), patterns.mean(axis=(0, 1))])
    assert rows.labels == ("L0", "L1", "L2", "mean") and (rows.chosen, rows.name) == (3, "layer")
