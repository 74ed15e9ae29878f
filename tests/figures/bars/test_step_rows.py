"""One step in all heads: a row a head, a column a key."""

import json
from typing import Any

import numpy as np
import pytest
from plotly.graph_objects import Figure, Heatmap

from transformer_core.figures import DARK, LIGHT
from transformer_core.figures.bars.step_rows import layer_rows, step_rows
from transformer_core.figures.theme import KEY, QUERY

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
    assert list(drawn.layout.xaxis.ticktext) == ["the", "&lt;cat&gt;", "the"]
    assert drawn.layout.yaxis.title.text == "head"


def test_words_and_numbers():
    drawn = figure(row_name="layer")
    assert cells(drawn).customdata[1][1] == "layer 1.1 → key 1 '&lt;cat&gt;': 1.00"
    assert cells(drawn).customdata[2][0] == "mean of these rows → key 0 'the': 0.25"
    wide = step_rows(ROWS[1:], KEYS, HEADS[1:], title="x")
    written = {
        (y, x): text
        for trace in wide.data
        if trace.type == "scatter"
        for x, y, text in zip(trace.x, trace.y, trace.text, strict=True)
    }
    assert written == {(0, 1): "1.00", (1, 0): ".25", (1, 1): ".62", (1, 2): ".12"}


def test_a_line_sets_the_mean_apart_and_frames_mark_what_is_chosen():
    (line,) = figure().layout.shapes
    assert line.type == "line" and line.y0 == line.y1 == 1.5
    line, row, column, cell = figure(chosen=0, key=2, n_keys=8).layout.shapes
    assert (row.line.color, column.line.color) == (QUERY, KEY)
    assert (line.x0, line.x1) == (row.x0, row.x1) == (-0.5, 7.5) and (row.y0, row.y1) == (-0.5, 0.5)
    assert (column.x0, column.x1, column.y0, column.y1) == (1.5, 2.5, -0.5, 2.5)
    assert (cell.x0, cell.x1, cell.y0, cell.y1) == (1.5, 2.5, -0.5, 0.5)
    heads = step_rows(ROWS, KEYS, ("0.0", "0.1", "0.2"), title="x")
    assert not heads.layout.shapes
    assert not step_rows(ROWS[:1], KEYS, ("mean",), title="x").layout.shapes


def test_there_is_room_for_keys_to_come():
    drawn = figure(n_keys=8)
    assert drawn.layout.xaxis.range == (-0.5, 7.5) and cells(drawn).z.shape == (3, 3)
    assert list(drawn.layout.xaxis.ticktext) == ["the", "&lt;cat&gt;", "the", *[""] * 5]
    assert figure(n_keys=2).layout.xaxis.range == (-0.5, 2.5)


def test_of_many_cells_the_browser_composes_the_words():
    n = 500
    many = np.full((12, n), 1 / n)
    drawn = step_rows(many, ["x"] * n, [f"3.{head}" for head in range(11)] + ["mean"], title="x")
    assert cells(drawn).customdata is None and cells(drawn).meta == "words"
    told = drawn.layout.meta["words"]
    assert told["queries"][2] == "head 3.2" and told["queries"][-1] == "mean of these rows"
    assert told["keys"][4] == "key 4 'x'" and told["format"] == ".2f"
    labels = drawn.layout.xaxis
    assert len(labels.tickvals) * 1.2 * labels.tickfont.size <= 620


@pytest.mark.parametrize("n_rows", [1, 9, 33, 200])
def test_rows_take_as_much_room_as_they_need(n_rows: int):
    rows = np.full((n_rows, 3), 1 / 3)
    height = step_rows(rows, KEYS, [f"0.{head}" for head in range(n_rows)], title="x").layout.height
    assert 9 * n_rows < height < 24 * n_rows + 150
    drawn = step_rows(rows, KEYS, [f"0.{head}" for head in range(n_rows)], title="x")
    room = drawn.layout.height - drawn.layout.margin.t - drawn.layout.margin.b
    assert room / n_rows == pytest.approx({1: 24, 9: 24, 33: 560 / 33, 200: 9}[n_rows], abs=1)
    assert any(trace.type == "scatter" for trace in drawn.data) == (n_rows < 29)  # numbers need 20 px a row
    assert step_rows(rows, KEYS, ["0"] * n_rows, title="x", height=333).layout.height == 333


def test_heads_of_a_layer_with_their_mean():
    patterns = np.random.default_rng(0).dirichlet(np.ones(5), size=(3, 4))  # [layer, head, key]
    rows = layer_rows(patterns, layer=1, head=2, mean="")
    np.testing.assert_array_equal(rows.values[:4], patterns[1])
    np.testing.assert_allclose(rows.values[4], sum(patterns[1]) / 4)
    assert rows.labels == ("L1.H0", "L1.H1", "L1.H2", "L1.H3", "mean")
    assert (rows.chosen, rows.name) == (2, "head")
    assert layer_rows(patterns, layer=1, head=2, mean="layer").chosen == 4


def test_layers_with_the_mean_of_all_heads():
    patterns = np.random.default_rng(0).dirichlet(np.ones(5), size=(3, 4))
    rows = layer_rows(patterns, layer=1, head=2, mean="all")
    for layer in range(3):
        np.testing.assert_allclose(rows.values[layer], sum(patterns[layer]) / 4)
    np.testing.assert_allclose(rows.values[3], patterns.reshape(12, 5).mean(axis=0))
    np.testing.assert_allclose(rows.values.sum(axis=1), 1)
    assert rows.labels == ("L0", "L1", "L2", "mean") and (rows.chosen, rows.name) == (3, "layer")


def test_labels_must_fit():
    with pytest.raises(ValueError, match="3 rows of 3 keys, but 2 row labels and 3 key labels"):
        step_rows(ROWS, KEYS, HEADS[:2], title="x")


def test_input_is_not_changed_and_the_theme_is_only_in_the_template():
    before = ROWS.copy()
    light, dark = (figure(theme=theme, chosen=1, n_keys=5).to_plotly_json() for theme in (LIGHT, DARK))
    np.testing.assert_array_equal(ROWS, before)
    assert light["layout"].pop("template") != dark["layout"].pop("template")
    assert json.dumps(light, default=str) == json.dumps(dark, default=str)
