"""Lines from queries to keys: one for each weight that is drawn, in few traces."""

import re
from dataclasses import replace

import numpy as np
from plotly.graph_objects import Figure

from headlight.figures import TokenGrid
from headlight.figures.bipartite import bipartite_lines
from headlight.figures.theme import HUES
from tests.headlight.figures.heatmaps.test_attention import a_pattern

KEYS = ("the", "cat", "the", "<eos>")
GRID = TokenGrid(("le", "<chat>", "le"), KEYS)


CURVE = re.compile(r"M0,(\d+)C0\.5,(\d+),0\.5,(\d+),1,(\d+)")


def lines(figure: Figure, hue: str = HUES[0]) -> dict[tuple[int, int], float]:
    """By query and key: how opaque the curve is, which leaves and reaches its tokens level."""
    results: dict[tuple[int, int], float] = {}
    for shape in figure.layout.shapes:
        if shape.line.color != hue:
            continue
        assert not CURVE.sub("", shape.path)
        for start, level, other_level, end in CURVE.findall(shape.path):
            assert (start, other_level) == (level, end)
            results[int(start), int(end)] = shape.opacity
    return results


def test_a_line_for_each_weight_that_is_large_enough():
    pattern = np.array([[0.9, 0.05, 0.05, 0.0], [0.3, 0.3, 0.3, 0.1], [0.019, 0.0, 0.001, 0.98]])
    actual = lines(bipartite_lines([pattern], GRID))
    assert set(actual) == {(q, k) for q, k in np.ndindex(3, 4) if pattern[q, k] >= 0.005}


def test_the_stronger_the_more_opaque_and_strong_lines_lie_on_top():
    pattern = np.minimum(a_pattern(6, 6) ** 2 * 20, 1)
    figure = bipartite_lines([pattern], TokenGrid("abcdef", "ghijkl"))
    actual = lines(figure)
    order = sorted(actual, key=lambda cell: pattern[cell])
    assert (np.diff([actual[cell] for cell in order]) >= 0).all()
    opacities = [shape.opacity for shape in figure.layout.shapes]
    assert opacities == sorted(opacities) and 0 < opacities[0] <= opacities[-1] <= 1


def test_a_head_has_few_shapes_and_its_hue_and_name():
    patterns = [a_pattern(60, 60, seed) ** 0.1 for seed in range(3)]
    figure = bipartite_lines(patterns, TokenGrid(["x"] * 60, ["y"] * 60), names=["one", "<two>", "three"])
    assert len(figure.layout.shapes) <= 3 * 24
    assert [trace.name for trace in figure.data if trace.showlegend] == ["one", "&lt;two&gt;", "three"]
    many = np.linspace(0.01, 1, 70 * 60).reshape(70, 60)
    mine = bipartite_lines([many], TokenGrid(["x"] * 70, ["y"] * 60))
    assert set(lines(mine)) == {divmod(cell, 60) for cell in range(200, 4200)}  # the 4000 strongest


def test_only_the_lines_of_what_is_chosen_are_drawn():
    pattern = np.full((3, 4), 0.25)
    figure = bipartite_lines([pattern], replace(GRID, marked=(11, None), first_query=10))
    assert set(lines(figure)) == {(1, key) for key in range(4)}
    assert set(lines(bipartite_lines([pattern], replace(GRID, marked=(None, 2))))) == {(query, 2) for query in range(3)}
    whole_row = bipartite_lines([pattern], replace(GRID, marked=(0, 3)))  # of both, as on the page, the query
    assert set(lines(whole_row)) == {(0, key) for key in range(4)}


def test_weights_of_what_is_chosen_stand_beside_the_other_tokens():
    one, other = np.array([[0.9, 0.1, 0.0, 0.0]]), np.array([[0.0, 0.25, 0.75, 0.004]])
    grid = TokenGrid(["it"], KEYS, marked=(0, None))
    alone = bipartite_lines([one], grid).layout
    assert list(alone.yaxis2.ticktext) == ["the  0.90", "cat  0.10", "the", "&lt;eos&gt;"]
    two = bipartite_lines([one, other], grid).layout.yaxis2.ticktext
    red, blue = (f'<span style="color:{hue}">' for hue in HUES[:2])
    assert two[1] == f"cat  {red}0.10</span> {blue}0.25</span>" and two[0] == f"the  {red}0.90</span>"
