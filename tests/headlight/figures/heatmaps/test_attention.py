"""The heatmap of one head and the difference of two: axes, ranges, hover texts."""

import html
import json
from dataclasses import replace

import numpy as np
import pytest
from plotly.graph_objects import Figure, Heatmap

from headlight.figures import TokenGrid, attention_heatmap, difference_heatmap
from headlight.figures.heatmaps.attention import heatmap_frame
from headlight.figures.quantities import CellQuantity
from headlight.figures.theme import KEY, QUERY, WARM

QUERIES, KEYS = ("<bos>", "le", "chat", "le"), ("the", "cat", "the", "<eos>")


def a_pattern(n_queries: int, n_keys: int, seed: int = 0) -> np.ndarray:
    """Rows of positive weights that sum to 1."""
    weights = np.random.default_rng(seed).random((n_queries, n_keys)).astype(np.float32)
    return weights / weights.sum(axis=1, keepdims=True)


def heatmap(figure: Figure, name: str) -> Heatmap:
    """The trace of that name."""
    return next(trace for trace in figure.data if trace.name == name)


def test_rows_are_queries_and_columns_keys_with_the_tokens_as_text():
    pattern = a_pattern(3, 4)
    figure = attention_heatmap(pattern, TokenGrid(QUERIES[:3], KEYS))
    np.testing.assert_array_equal(heatmap(figure, "attention").z, pattern)
    layout = figure.layout
    assert (list(layout.xaxis.tickvals), list(layout.yaxis.tickvals)) == ([0, 1, 2, 3], [0, 1, 2])
    assert [html.unescape(text) for text in layout.xaxis.ticktext] == list(KEYS)  # both "the" are there
    assert [html.unescape(text) for text in layout.yaxis.ticktext] == list(QUERIES[:3])
    assert (tuple(layout.yaxis.range), tuple(layout.xaxis.range)) == ((2.5, -0.5), (-0.5, 3.5))
    assert (layout.coloraxis.cmin, layout.coloraxis.cmax) == (0, 1)


def test_forbidden_cells_are_not_zeros():
    pattern, mask = np.tril(a_pattern(4, 4)), np.tril(np.ones((4, 4), dtype=bool))
    figure = attention_heatmap(pattern, TokenGrid(QUERIES, KEYS), mask=mask)
    attention, forbidden = heatmap(figure, "attention"), heatmap(figure, "masked")
    np.testing.assert_array_equal(np.isnan(attention.z), ~mask)
    np.testing.assert_array_equal(np.isnan(forbidden.z), mask)


def words(figure: Figure, name: str = "attention") -> list[list[str]]:
    """The hover text of each cell."""
    assert heatmap(figure, name).hovertemplate == "%{customdata}<extra></extra>"
    return [list(row) for row in heatmap(figure, name).customdata]


CAUSAL = np.tril(np.ones((3, 3), dtype=bool))


def test_scores_are_around_zero_and_minus_infinity_is_forbidden():
    scores = np.where(CAUSAL, np.array([[1.5, 0, 0], [-4.25, 2, 0], [0.5, 0, -0.01]]), -np.inf)
    figure = attention_heatmap(scores, TokenGrid("abc", "def"), quantity="scores")
    cells = heatmap(figure, "scores")
    np.testing.assert_array_equal(cells.z, np.where(CAUSAL, scores, np.nan).astype(np.float32))
    axis = figure.layout[cells.coloraxis]
    assert (axis.cmin, axis.cmax) == (-4.25, 4.25)
    np.testing.assert_array_equal(np.isfinite(heatmap(figure, "masked").z), ~CAUSAL)
    text = words(figure, "scores")
    assert text[1][0] == "query 1 'b' → key 0 'd': score −4.25"
    assert text[2][2] == "query 2 'c' → key 2 'f': score −0.01"
    assert text[0][1] == "query 0 'a' → key 1 'e': masked"


def test_powers_of_ten_have_a_fixed_range_and_tell_the_weight():
    weights = np.array([[0.5, 4.2e-4, 2.5e-5, 0.0]])
    figure = attention_heatmap(weights, TokenGrid("a", "bcde"), quantity="log")
    np.testing.assert_allclose(heatmap(figure, "attention").z, np.log10([[0.5, 4.2e-4, 2.5e-5, 1e-6]]), rtol=1e-6)
    axis = figure.layout.coloraxis
    assert (axis.cmin, axis.cmax) == (-4, 0)
    assert list(axis.colorbar.ticktext) == ["1", "0.1", "0.01", "0.001", "≤ 0.0001"]
    reports = [text.split(": weight ")[1] for text in words(figure)[0]]
    assert reports == ["0.5", "0.00042", "0.000025", "below 0.000001"]


def test_a_window_keeps_the_places_of_the_whole_text():
    figure = attention_heatmap(a_pattern(2, 3), TokenGrid("ab", "cde", first_query=128, first_key=64))
    cells = heatmap(figure, "attention")
    assert (cells.x0, cells.dx, cells.y0, cells.dy) == (64, 1, 128, 1)
    assert list(figure.layout.xaxis.tickvals) == [64, 65, 66] and list(figure.layout.xaxis.ticktext) == list("cde")
    assert tuple(figure.layout.xaxis.range) == (63.5, 66.5) and tuple(figure.layout.yaxis.range) == (129.5, 127.5)
    assert words(figure)[1][2].startswith("query 129 'b' → key 66 'e': ")


def test_an_overview_says_which_places_a_cell_stands_for():
    pooled = np.array([[0.42, 0.1, 0.0], [1.0, 0.25, 0.5]])
    figure = attention_heatmap(pooled, TokenGrid(["q"] * 7, ["k"] * 300, blocks=(7, 300), first_query=10))
    cells = heatmap(figure, "attention")
    assert list(cells.x) == [-0.5, 99.5, 199.5, 299.5]  # the edges of blocks, in tokens
    assert list(cells.y) == [9.5, 12.5, 16.5]  # 7 queries in 2 blocks: 3 and 4
    assert words(figure)[0][0] == "queries 10 to 12 → keys 0 to 99: at most 0.42"
    assert figure.layout.meta["blocks"] == {"queries": [10, 13, 17], "keys": [0, 100, 200, 300]}
    assert tuple(figure.layout.xaxis.range) == (-0.5, 299.5)
    assert list(figure.layout.xaxis.ticktext) == [f"{place}" for place in figure.layout.xaxis.tickvals]
    with pytest.raises(ValueError, match="8 queries and 300 keys"):
        attention_heatmap(pooled, TokenGrid(["q"] * 7, ["k"] * 300, blocks=(8, 300)))


def test_what_is_marked_has_a_frame_that_hides_nothing():
    grid = TokenGrid(QUERIES, KEYS, first_query=4, first_key=2)
    row, column, cell = attention_heatmap(a_pattern(4, 4), replace(grid, marked=(5, 3))).layout.shapes
    assert (row.x0, row.x1, row.y0, row.y1, row.line.color) == (1.5, 5.5, 4.5, 5.5, QUERY)
    assert (column.x0, column.x1, column.y0, column.y1, column.line.color) == (2.5, 3.5, 3.5, 7.5, KEY)
    assert (cell.x0, cell.x1, cell.y0, cell.y1, cell.line.color) == (2.5, 3.5, 4.5, 5.5, WARM)
    group = attention_heatmap(a_pattern(4, 4), grid, framed=[(5, 3), (7, 2), (0, 9)]).layout.shapes
    assert [(one.x0, one.y0) for one in group] == [(2.5, 4.5), (1.5, 6.5)]  # the third one is not seen
    assert {(one.x1 - one.x0, one.y1 - one.y0, one.line.color) for one in group} == {(1, 1, WARM)}


def test_a_large_figure_leaves_its_words_to_the_browser(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delattr(CellQuantity, "in_cells")  # nor is any number written into a cell
    tokens = [f"<{i}>" for i in range(65)]
    mask = np.tril(np.ones((65, 65), dtype=bool))
    figure = attention_heatmap(a_pattern(65, 65), TokenGrid(tokens, tokens, first_key=3), mask=mask)
    assert figure.layout.meta["words"] == {
        "queries": [f"query {i} '&lt;{i}&gt;'" for i in range(65)],
        "keys": [f"key {i + 3} '&lt;{i}&gt;'" for i in range(65)],
        "before": "",
        "format": ".2f",
        "power": False,
        "decimal": ".",
        "forbidden": "masked",
    }
    assert all(trace.meta == "words" and trace.customdata is None for trace in figure.data)
    small = attention_heatmap(a_pattern(64, 64), TokenGrid(tokens[1:], tokens[1:]))
    assert "words" not in small.layout.meta and small.data[0].meta is None


def test_a_frame_is_the_figure_without_its_cells():
    grid = TokenGrid(["a", "long word", "c"], ["<b>", "e"], query_name="query: the target", key_name="key: text")
    pattern = np.full((3, 2), 0.5)
    whole = json.loads(attention_heatmap(pattern, grid, title="a head").to_json())["layout"]
    frame = json.loads(json.dumps(heatmap_frame(grid, title="a head")))
    assert frame.keys() == {"title", "height", "meta", "margin", "xaxis", "yaxis"}
    for name in ("title", "margin", "xaxis", "yaxis"):
        assert {part: whole[name][part] for part in frame[name]} == frame[name]
    generated = replace(grid, generated_from=1)
    whole = json.loads(attention_heatmap(pattern, generated, title="a head").to_json())["layout"]
    assert heatmap_frame(generated, title="a head")["shapes"] == whole["shapes"]
    assert [(line["x0"], line["y0"]) for line in whole["shapes"]] == [(-0.5, 0.5), (0.5, -0.5)]  # before place 1


A, B = np.array([[0.75, 0.25], [0.0, 1.0]]), np.array([[0.25, 0.75], [0.001, 0.999]])


def test_the_scale_of_a_difference_is_fixed_around_zero_and_numbers_have_signs():
    axis = difference_heatmap(A, B, TokenGrid("ab", "cd")).layout.coloraxis3
    assert (axis.cmin, axis.cmax) == (-1, 1)
    figure = difference_heatmap(A, B, TokenGrid("ab", "cd"))
    assert {text for trace in figure.data if trace.type == "scatter" for text in trace.text} == {"+.50", "−.50"}


def test_masked_cells_of_a_difference_are_not_zeros():
    mask = np.tril(np.ones((4, 4), dtype=bool))
    a, b = np.tril(a_pattern(4, 4)), np.tril(a_pattern(4, 4, seed=1))
    figure = difference_heatmap(a, b, TokenGrid("abcd", "abcd"), mask=mask)
    np.testing.assert_array_equal(heatmap(figure, "difference").z, np.where(mask, b - a, np.nan))
    np.testing.assert_array_equal(np.isnan(heatmap(figure, "difference").z), ~mask)
    np.testing.assert_array_equal(np.isnan(heatmap(figure, "masked").z), mask)
    assert heatmap(figure, "difference").customdata[0][3] == "query 0 'a' → key 3 'd': masked"


@pytest.mark.parametrize(
    ("change", "text", "is_deep"), [(0.049, None, 0), (0.05, "+.05", 0), (0.89, "+.89", 0), (0.9, "+.90", 1)]
)
def test_small_differences_are_not_written_and_large_ones_in_the_color_of_the_background(
    change: float, text: str | None, is_deep: bool
):
    figure = difference_heatmap(np.zeros((1, 1)), np.full((1, 1), change), TokenGrid("a", "b"))
    texts = [[*trace.text] for trace in figure.data if trace.type == "scatter"]
    assert texts[is_deep] == ([text] if text else []) and texts[not is_deep] == []


def test_what_only_one_text_has_cannot_be_compared():
    """Of two aligned texts, one has a token that the other has not: NaN there."""
    a = A.copy()
    a[:, 1] = np.nan
    figure = difference_heatmap(a, B, TokenGrid(["le", "le"], ["the", "cat"]))
    np.testing.assert_array_equal(np.isnan(heatmap(figure, "difference").z), [[False, True], [False, True]])
    assert heatmap(figure, "difference").customdata[0][1] == "query 0 'le' → key 1 'cat': masked"


def test_a_large_difference_leaves_its_words_to_the_browser():
    a, b = a_pattern(65, 65, seed=1), a_pattern(65, 65, seed=2)
    figure = difference_heatmap(a, b, TokenGrid(["x"] * 65, ["y"] * 65))
    assert figure.layout.meta["words"]["before"] == "B − A = "
    assert figure.layout.meta["words"]["format"] == "+.2f"
    assert heatmap(figure, "difference").customdata is None
