"""What is written into a cell, and told of it, is of the cell that is painted there: in any size, any window."""

from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from headlight.figures import TokenGrid, attention_heatmap, difference_heatmap
from headlight.figures.heatmaps.decoding import alignment_matrix, step_rows
from headlight.figures.heatmaps.head_grid import head_grid
from headlight.figures.heatmaps.mask_moved import moved_pair
from headlight.figures.heatmaps.model_matrices import head_matrix, layer_matrix
from headlight.figures.heatmaps.number_panels import number_panels
from headlight.figures.heatmaps.position_matrix import MatrixAxis, position_matrix
from headlight.figures.quantities import MINUS

SIZES = pytest.mark.parametrize(("n_rows", "n_columns"), [(2, 5), (4, 3), (1, 6)])
Cells = dict[tuple[str, int, int], Any]


def number(text: str) -> float:
    return float(text.replace(MINUS, "-"))


def cells_of(figure: go.Figure, trace: go.Heatmap, part: np.ndarray) -> Cells:
    """A value of each painted cell by its place: axes, x, y."""
    x0, y0 = trace.x0 or 0, trace.y0 or 0
    axes, part = trace.xaxis or "x", np.array(part, dtype=object)
    return {(axes, x0 + x, y0 + y): part[y, x] for y, x in np.argwhere(np.isfinite(trace.z)).tolist()}


def check(figure: go.Figure, *, decimals: int = 2, unwritten: float = 0.0) -> Cells:
    """Return the words of all cells by their places, after comparing the numbers in cells with what is painted."""
    values: Cells = {}
    payload: Cells = {}
    written: Cells = {}
    for trace in figure.data:
        if trace.type == "heatmap" and trace.name != "masked":
            values |= cells_of(figure, trace, trace.z)
            payload |= cells_of(figure, trace, trace.customdata)
        elif trace.type == "scatter" and trace.mode == "text":
            places = zip(map(int, trace.x), map(int, trace.y), trace.text, strict=True)
            written |= {(trace.xaxis or "x", x, y): number(text) for x, y, text in places}
    assert written.keys() <= values.keys()
    for place, value in values.items():
        half = 0.5 * 10**-decimals + 1e-6
        assert abs(written[place] - value) <= half if place in written else abs(value) < unwritten + half
    return payload


def draw_numbers(shape: tuple[int, ...], low: float = 0.0) -> np.ndarray:
    return np.random.default_rng(shape).uniform(low, 1, shape).round(2)


def names(letter: str, n: int) -> list[str]:
    return [f"{letter}{i}" for i in range(n)]


@SIZES
@pytest.mark.parametrize("is_masked", [False, True])
def test_of_patterns_and_their_differences(n_rows: int, n_columns: int, is_masked: bool):
    a, b = draw_numbers((2, n_rows, n_columns))
    labels = names("q", n_rows), names("k", n_columns)
    mask = a < 0.6 if is_masked else np.ones(a.shape, dtype=bool)
    grid = TokenGrid(*labels, first_query=7, first_key=2)
    of_pattern = check(attention_heatmap(a, grid, mask=mask), unwritten=0.05)
    of_difference = check(difference_heatmap(a, b, grid, mask=mask), unwritten=0.05)
    assert len(of_pattern) == len(of_difference) == mask.sum()
    for (_, x, y), words in of_pattern.items():
        cell, in_a, in_b = f"query {y} 'q{y - 7}' → key {x} 'k{x - 2}'", a[y - 7, x - 2], b[y - 7, x - 2]
        assert words == f"{cell}: {in_a:.2f}"
        assert of_difference["x", x, y].startswith(f"{cell}<br>A: {in_a:.2f}, B: {in_b:.2f}, ")


@SIZES
def test_of_alignments(n_rows: int, n_columns: int):
    weights, n_shown = draw_numbers((n_rows, n_columns)), (n_rows + 1) // 2
    labels = names("t", n_rows), names("s", n_columns)
    text = check(alignment_matrix(weights, TokenGrid(*labels), n_shown=n_shown), unwritten=0.05)
    assert len(text) == n_shown * n_columns
    for (_, x, y), words in text.items():
        assert words == f"query {y} 't{y}' → key {x} 's{x}': {weights[y, x]:.2f}"


@SIZES
@pytest.mark.parametrize("stacked", [False, True])
def test_of_tables(n_rows: int, n_columns: int, stacked: bool):
    values = draw_numbers((3, n_rows, n_columns), low=-1)
    labels = names("r", n_rows), names("c", n_columns)
    panels = dict(zip("abc", values, strict=True))
    grid = TokenGrid(*labels, query_name="row", key_name="column")
    text = check(number_panels(panels, grid, title="T", diverging=True, stacked=stacked))
    assert len(text) == values.size
    for (axes, x, y), words in text.items():
        i = int(axes[1:] or 1) - 1
        where, _, value = words.rpartition(": ")
        assert (where, number(value)) == (f"{'abc'[i]}, row {y} 'r{y}', column {x} 'c{x}'", values[i, y, x])
    for (_, x, y), words in check(layer_matrix(np.abs(values[0]), labels=labels)).items():
        assert words == f"A, r{y}<br>B, c{x}<br>CKA {abs(values[0, y, x]):.2f}"
    sides = (MatrixAxis(title="", words=words) for words in labels)
    for (_, x, y), words in check(position_matrix(values[0], *sides, title="T")).items():
        where, _, value = words.rpartition(": ")
        assert (where, number(value)) == (f"r{y} → c{x}", values[0, y, x])


@SIZES
def test_of_heads(n_rows: int, n_columns: int):
    """Rows are layers, columns heads; then the heads of two models."""
    values = draw_numbers((n_rows, n_columns))
    for (_, x, y), words in check(head_grid(values, title="T", what="score")).items():
        assert f"L{y}.H{x}" in words and f"{values[y, x]:.2f}" in words
    n = n_rows * n_columns
    similarity = draw_numbers((n, n))
    for (_, x, y), words in check(head_matrix(similarity, np.arange(n), n_heads=n_columns), unwritten=2).items():
        a, b = divmod(y, n_columns), divmod(x, n_columns)
        assert words.startswith(f"A: L{a[0]}.H{a[1]}<br>B: L{b[0]}.H{b[1]}<br>similarity {similarity[y, x]:.2f}")


@SIZES
def test_of_one_step_in_all_heads(n_rows: int, n_columns: int):
    weights = draw_numbers((n_rows, n_columns))
    grid = TokenGrid(names("h", n_rows), names("k", n_columns), query_name="head")
    text = check(step_rows(weights, grid, title="T"), unwritten=0.05)
    assert len(text) == weights.size
    for (_, x, y), words in text.items():
        assert words == f"head h{y} → key {x} 'k{x}': {weights[y, x]:.2f}"


@SIZES
def test_of_what_a_mask_moves(n_rows: int, n_columns: int):
    moved = draw_numbers((2, n_rows, n_columns))
    grid = TokenGrid(names("r", n_rows), names("c", n_columns))
    form = "{row} {row_label} {column} {column_label} {value}"
    text = check(moved_pair((moved[0], moved[1]), grid, titles=("A", "B"), title="T", hover_form=form), decimals=1)
    assert len(text) == moved.size
    for (axes, x, y), words in text.items():
        *where, value = words.split(" ")
        assert where == [str(y), f"r{y}", str(x), f"c{x}"]
        assert number(value) == moved[int(axes[1:] or 1) - 1, y, x]
