"""The output beside the source: rows appear as they are written, and what is known is marked."""

from typing import Any

import numpy as np
from plotly.graph_objects import Figure

from headlight.figures.alignment import MOST, TRUE, alignment_matrix
from headlight.figures.theme import KEY, QUERY

WEIGHTS = np.array([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.25, 0.625, 0.125], [0.1, 0.2, 0.7]])
TARGETS = ("le", "<chat>", "dort", "<eos>")
SOURCES = ("the", "cat", "sleeps")


def figure(**more: Any) -> Figure:
    return alignment_matrix(WEIGHTS, TARGETS, SOURCES, **{"n_shown": 2} | more)


def trace(drawn: Figure, name: str) -> Any:
    (found,) = (trace for trace in drawn.data if trace.name == name)
    return found


def test_only_what_is_written_is_there_and_the_rest_has_its_room():
    for n_shown in range(5):
        drawn = figure(n_shown=n_shown)
        grids = [trace for trace in drawn.data if trace.type == "heatmap"]
        assert len(grids) == (n_shown > 0)
        for grid in grids:
            np.testing.assert_array_equal(grid.z, WEIGHTS[:n_shown].astype(np.float32))
        assert drawn.layout.yaxis.range == (3.5, -0.5) and drawn.layout.height == figure().layout.height
        labels = ["le", "&lt;chat&gt;", "dort", "&lt;eos&gt;"]
        assert list(drawn.layout.yaxis.ticktext) == [*labels[:n_shown], *[""] * (4 - n_shown)]


def test_true_links_are_outlined_and_what_is_looked_at_most_has_a_dot():
    drawn = figure(truth={(0, 0), (1, 1), (3, 2)}, links={(0, 1), (1, 1), (2, 2)})
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
    assert not {TRUE, MOST} & {trace.name for trace in figure().data}
    _, row, column = figure(at=1, chosen=2).layout.shapes
    assert (row.y0, row.y1, row.x0, row.x1, row.line.color) == (0.5, 1.5, -0.5, 2.5, QUERY)
    assert (column.x0, column.x1, column.y0, column.y1, column.line.color) == (1.5, 2.5, -0.5, 3.5, KEY)
    assert len(figure(at=None).layout.shapes) == len(figure(at=9).layout.shapes) == 1
