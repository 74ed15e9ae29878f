"""Token axes: which tokens a row or a column stands for, and how its axis says so."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headlight.figures import attention_heatmap, row_bars
from headlight.figures.heatmaps.all_heads import all_heads
from headlight.figures.heatmaps.mask_moved import moved_pair
from headlight.figures.heatmaps.number_panels import number_panels
from headlight.figures.theme import DIVIDER
from headlight.figures.token_grid import TokenAxis, TokenGrid, token_legends
from transformer_core.text.labels import with_border
from transformer_core.text.words import word_labels


def places(n: int, n_cells: int | None = None, first: int = 0) -> TokenAxis:
    return TokenAxis(kind="query", tokens=["x"] * n, n_cells=n if n_cells is None else n_cells, first=first)


@given(n=st.integers(1, 200), n_most=st.integers(1, 64), first=st.integers(0, 5000))
def test_every_place_is_in_one_cell(n: int, n_most: int, first: int):
    n_cells = min(n, n_most)
    pooled = places(n, n_cells, first)
    cells: dict[tuple[float, float], list[int]] = {}
    for place in range(first, first + n):
        edges = pooled.around(place)
        assert edges is not None and edges[0] < place < edges[1]
        cells.setdefault(edges, []).append(place)
    assert len(cells) == n_cells
    sizes = [len(members) for members in cells.values()]
    assert max(sizes) - min(sizes) <= 1
    assert pooled.around(first - 1) is None and pooled.around(first + n) is None and pooled.around(None) is None
    assert pooled.ends == (min(edges[0] for edges in cells), max(edges[1] for edges in cells))


def test_words_tell_the_place_the_token_or_the_stretch():
    single = TokenAxis(kind="key", tokens=["le", "<b>", "le"], n_cells=3, first=5)
    assert single.words == ["key 5 'le'", "key 6 '&lt;b&gt;'", "key 7 'le'"]
    assert places(5, 2).words == ["queries 0 to 1", "queries 2 to 4"]
    assert places(3, 2).words == ["query 0 'x'", "queries 1 to 2"]  # a block of one is a token


@pytest.mark.parametrize(("n", "n_cells"), [(40, 40), (500, 64), (3, 2)])
@pytest.mark.parametrize("first", [0, 777])
def test_labels_have_room_and_are_seen(n: int, n_cells: int, first: int):
    axis = places(n, n_cells, first).axis("query", room=500)
    assert len(axis["tickvals"]) == len(axis["ticktext"]) >= 1
    assert (len(axis["tickvals"]) - 1) * 1.2 * axis["tickfont"]["size"] <= 500
    assert n > 40 or len(axis["tickvals"]) == n
    assert all(first <= place < first + n for place in axis["tickvals"])
    if n_cells < n:
        assert list(axis["ticktext"]) == [str(place) for place in axis["tickvals"]]
        assert "position in the text" in axis["title"]["text"]


@pytest.mark.parametrize(("room", "is_numbered"), [(1000, False), (900, False), (899, True), (100, True)])
def test_tokens_without_room_are_numbered_and_none_is_lost(room: int, is_numbered: bool):
    tokens = [f"t{i}" for i in range(100)]
    keys = TokenAxis(kind="key", tokens=tokens, n_cells=100, first=997)
    axis = keys.axis("key", room=room, chosen=1020)
    shown = dict(zip(axis["tickvals"], axis["ticktext"], strict=True))
    if not is_numbered:
        assert [*shown.values()] == tokens and token_legends(xaxis=(keys, axis)) == {"tokens": {"xaxis": {}}}
        return
    assert shown.pop(1020) == "1020 t23"  # as the words of a place, and the browser, write it
    assert all(text == str(place) for place, text in shown.items())
    legend = token_legends(xaxis=(keys, axis))["tokens"]["xaxis"]
    assert legend == {"first": 997, "labels": tokens}


@pytest.mark.parametrize(("n", "length", "angle"), [(10, 6, 0), (10, 7, -45), (28, 7, -90)])
def test_labels_of_keys_turn_where_they_have_no_room_and_stand_above_the_cells(n: int, length: int, angle: int):
    grid = TokenGrid("ab", ["x" * length] * n, width=600, height=500)
    layout = grid.layout(*grid.axes(), title="t")
    assert layout["xaxis"]["tickangle"] == angle and layout["xaxis"]["side"] == "top"


@pytest.mark.parametrize(("border", "expected"), [(2, {("x", 1.5), ("y", 1.5)}), (None, set())])
def test_a_line_parts_two_texts_in_every_figure_and_no_text_with_that_sign(
    border: int | None, expected: set[tuple[str, float]]
):
    labels, cells = with_border(["‖a", "‖", "b"], border), np.eye(3)
    grid = TokenGrid(labels, labels)
    named: Any = {"hover_form": "{row}", "titles": ("A", "B"), "title": "t"}
    figures = {
        "heat map": attention_heatmap(cells, grid),
        "panels": number_panels({"p": cells, "q": cells}, grid, title="t"),
        "moved": moved_pair((cells, cells), grid, **named),
        "bars": row_bars(cells[0], TokenGrid("a", labels)),
    }
    for name, figure in figures.items():
        lines = [line for line in figure.layout.shapes if line.type == "line" and line.line.color == DIVIDER]
        places = {("x", line.x0) if line.x0 == line.x1 else ("y", line.y0) for line in lines}
        assert places == {(axis, at) for axis, at in expected if axis == "x" or name != "bars"}, name
    pooled = attention_heatmap(np.eye(2), TokenGrid(with_border("abcdefgh", 5), "xy", blocks=(8, 2), first_query=10))
    assert [line.y0 for line in pooled.layout.shapes] == [13.5]  # the block of places 14 to 17 begins there
    assert word_labels(with_border(["a", "·b", "·c", "d"], 2), (0, 1, 2, 2)) == with_border(["a", "b", "cd"], 2)
    heads = all_heads({"": np.ones((1, 2, 4, 4))}, {"": np.ones((1, 4, 4), dtype=bool)}, title="t", border=0.25)
    (path,) = (shape.path for shape in heads.layout.shapes if shape.line.color == DIVIDER)
    assert path == "M0.5 -0.5V3.5M-0.5 0.5H3.5M5.5 -0.5V3.5M4.5 0.5H8.5"  # heads of 4 cells, one cell apart
