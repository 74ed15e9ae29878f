"""Attention while a text is generated: one step in all heads, and the whole output beside the source."""

from dataclasses import replace
from typing import Any

import numpy as np
from plotly.graph_objects import Figure, Heatmap

from headlight.figures import TokenGrid
from headlight.figures.heatmaps.decoding import MOST, TRUE, alignment_matrix, layer_rows, step_rows
from headlight.figures.theme import KEY, QUERY

ROWS = np.array([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.25, 0.625, 0.125]])
GRID = TokenGrid(("1.0", "1.1", "mean"), ("the", "<cat>", "the"), query_name="head")


def cells(drawn: Figure) -> Heatmap:
    (actual,) = (trace for trace in drawn.data if trace.type == "heatmap")
    return actual


def test_rows_from_top_to_bottom_on_a_fixed_range():
    drawn = step_rows(ROWS, GRID, title="t")
    np.testing.assert_array_equal(cells(drawn).z, ROWS.astype(np.float32))
    assert (drawn.layout.coloraxis.cmin, drawn.layout.coloraxis.cmax) == (0, 1)
    assert list(drawn.layout.yaxis.ticktext) == [*GRID.query_tokens] and drawn.layout.yaxis.range == (2.5, -0.5)


def test_a_line_sets_the_mean_apart_and_frames_mark_what_is_chosen():
    (line,) = step_rows(ROWS, GRID, title="t").layout.shapes
    assert line.type == "line" and line.y0 == line.y1 == 1.5
    line, row, column, cell = step_rows(ROWS, replace(GRID, marked=(0, 2)), title="t", n_keys=8).layout.shapes
    assert (row.line.color, column.line.color) == (QUERY, KEY)
    assert (line.x0, line.x1) == (row.x0, row.x1) == (-0.5, 2.5) and (row.y0, row.y1) == (-0.5, 0.5)
    assert (column.x0, column.x1, column.y0, column.y1) == (1.5, 2.5, -0.5, 2.5)
    assert (cell.x0, cell.x1, cell.y0, cell.y1) == (1.5, 2.5, -0.5, 0.5)


def test_of_many_cells_the_browser_composes_the_words():
    n = 500
    many = np.full((12, n), 1 / n)
    grid = TokenGrid([*(f"3.{head}" for head in range(11)), "mean"], ["x"] * n, query_name="head")
    drawn = step_rows(many, grid, title="x")
    assert cells(drawn).customdata is None and cells(drawn).meta == "words"
    text = drawn.layout.meta["words"]
    assert text["queries"][2] == "head 3.2" and text["queries"][-1] == "mean of these rows"
    assert text["keys"][4] == "key 4 'x'" and text["format"] == ".2f"


def test_heads_of_a_layer_or_all_layers_with_their_mean():
    patterns = np.random.default_rng(0).dirichlet(np.ones(5), size=(3, 4))  # [layer, head, key]
    rows = layer_rows(patterns, layer=1, head=2, mean="")
    np.testing.assert_array_equal(rows.values[:4], patterns[1])
    np.testing.assert_allclose(rows.values[4], sum(patterns[1]) / 4)
    assert (rows.labels[1], rows.labels[4], rows.chosen, rows.name) == ("L1.H1", "mean", 2, "head")
    rows = layer_rows(patterns, layer=1, head=2, mean="all")
    np.testing.assert_allclose(rows.values, [*(sum(of_layer) / 4 for of_layer in patterns), patterns.mean(axis=(0, 1))])
    assert rows.labels == ("L0", "L1", "L2", "mean") and (rows.chosen, rows.name) == (3, "layer")


WEIGHTS = np.array([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.25, 0.625, 0.125], [0.1, 0.2, 0.7]])
TARGETS = ("le", "<chat>", "dort", "<eos>")
SOURCES = ("the", "cat", "sleeps")


def alignment(*, n_shown: int = 2, marked: tuple[int | None, int | None] = (None, None), **more: Any) -> Figure:
    return alignment_matrix(WEIGHTS, TokenGrid(TARGETS, SOURCES, marked=marked), n_shown=n_shown, **more)


def trace(drawn: Figure, name: str) -> Any:
    (actual,) = (trace for trace in drawn.data if trace.name == name)
    return actual


def test_only_what_is_written_is_there_and_the_rest_has_its_room():
    for n_shown in range(5):
        drawn = alignment(n_shown=n_shown)
        grids = [trace for trace in drawn.data if trace.type == "heatmap"]
        assert len(grids) == (n_shown > 0)
        for grid in grids:
            np.testing.assert_array_equal(grid.z, WEIGHTS[:n_shown].astype(np.float32))
        assert drawn.layout.yaxis.range == (3.5, -0.5) and drawn.layout.height == alignment().layout.height
        labels = ["le", "&lt;chat&gt;", "dort", "&lt;eos&gt;"]
        assert list(drawn.layout.yaxis.ticktext) == [*labels[:n_shown], *[""] * (4 - n_shown)]


def test_true_links_are_outlined_and_what_is_looked_at_most_has_a_dot():
    drawn = alignment(truth={(0, 0), (1, 1), (3, 2)}, links={(0, 1), (1, 1), (2, 2)})
    outline = trace(drawn, TRUE)
    corners = np.stack([outline.x, outline.y], axis=1).reshape(-1, 6, 2)
    assert corners.shape[0] == 2 and np.isnan(corners[:, -1]).all()  # the row that is not written has none
    middles = corners[:, :4].mean(axis=1)
    np.testing.assert_allclose(middles, [[0, 0], [1, 1]], atol=1e-12)
    assert (np.abs(corners[:, :5] - middles[:, None]) < 0.5).all()
    dots = trace(drawn, MOST)
    np.testing.assert_array_equal(np.stack([np.round(dots.x), np.round(dots.y)]), [[1, 1], [0, 1]])
    cells = trace(drawn, "attention").customdata
    assert cells[1][1] == f"query 1 '&lt;chat&gt;' → key 1 'cat': 1.00<br>{TRUE}, {MOST}"


def test_rows_columns_and_the_legend_are_there_where_they_are_needed():
    assert not {TRUE, MOST} & {trace.name for trace in alignment().data}
    _, row, column, _ = alignment(marked=(1, 2)).layout.shapes
    assert (row.y0, row.y1, row.x0, row.x1, row.line.color) == (0.5, 1.5, -0.5, 2.5, QUERY)
    assert (column.x0, column.x1, column.y0, column.y1, column.line.color) == (1.5, 2.5, -0.5, 3.5, KEY)
    assert len(alignment().layout.shapes) == len(alignment(marked=(9, None)).layout.shapes) == 1
