"""The output beside the source: rows appear as they are written, and what is known is marked."""

import json
from typing import Any

import numpy as np
import pytest
from plotly.graph_objects import Figure

from transformer_core.figures import DARK, LIGHT
from transformer_core.figures.alignment import MOST, TRUE, alignment_matrix
from transformer_core.figures.theme import KEY, QUERY

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
        assert (drawn.layout.coloraxis.cmin, drawn.layout.coloraxis.cmax) == (0, 1)


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
    assert drawn.layout.showlegend


def test_words():
    cells = trace(figure(truth=[(0, 0), (1, 1)], links=[(1, 1)]), "attention").customdata
    assert cells[0][0] == f"query 0 'le' → key 0 'the': 0.50<br>{TRUE}"
    assert cells[1][1] == f"query 1 '&lt;chat&gt;' → key 1 'cat': 1.00<br>{TRUE}, {MOST}"
    assert cells[0][1] == "query 0 'le' → key 1 'cat': 0.25"


def test_the_dots_do_not_lie_on_the_numbers_and_the_legend_has_room():
    drawn = figure(links={(0, 1)})
    assert (trace(drawn, MOST).x[0], trace(drawn, MOST).y[0]) == pytest.approx((1 - 0.32, -0.24))  # up and to the left
    assert drawn.layout.margin.b - figure().layout.margin.b >= 20


def test_without_links_there_is_no_legend_and_without_any_found_it_stays():
    assert figure().layout.showlegend is None
    assert not {TRUE, MOST} & {trace.name for trace in figure().data}
    empty = figure(truth=(), links=())
    assert np.isnan(trace(empty, TRUE).x).all() and np.isnan(trace(empty, MOST).x).all() and empty.layout.showlegend


def test_the_row_that_is_written_and_a_column_are_framed():
    everything, row, column = figure(at=1, chosen=2).layout.shapes
    assert (row.y0, row.y1, row.x0, row.x1, row.line.color) == (0.5, 1.5, -0.5, 2.5, QUERY)
    assert (column.x0, column.x1, column.y0, column.y1, column.line.color) == (1.5, 2.5, -0.5, 3.5, KEY)
    assert (everything.y0, everything.y1) == (-0.5, 3.5)
    assert len(figure(at=None).layout.shapes) == len(figure(at=9).layout.shapes) == 1


@pytest.mark.parametrize("n", [1, 40, 200])
def test_long_outputs_stay_on_the_screen(n: int):
    weights = np.full((n, n), 1 / n)
    drawn = alignment_matrix(weights, ["x"] * n, ["y"] * n, n_shown=n, truth=(), links=())
    assert 300 <= drawn.layout.height <= 640
    labels = drawn.layout.yaxis
    assert len(labels.tickvals) * 1.2 * labels.tickfont.size <= 640
    if n == 200:
        assert drawn.layout.meta["words"]["queries"][7] == "query 7 'x'"


def test_labels_must_fit():
    with pytest.raises(ValueError, match="4 rows of 3 weights for 3 target labels and 3 source labels"):
        alignment_matrix(WEIGHTS, TARGETS[:3], SOURCES, n_shown=1)
    with pytest.raises(ValueError, match="5 rows to be shown"):
        figure(n_shown=5)


def test_input_is_not_changed_and_the_theme_is_only_in_the_template():
    before = WEIGHTS.copy()
    more: dict[str, Any] = {"truth": {(0, 0)}, "links": {(1, 1)}, "at": 1}
    light, dark = (figure(theme=theme, **more).to_plotly_json() for theme in (LIGHT, DARK))
    np.testing.assert_array_equal(WEIGHTS, before)
    assert light["layout"].pop("template") != dark["layout"].pop("template")
    assert json.dumps(light, default=str) == json.dumps(dark, default=str)
