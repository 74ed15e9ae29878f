"""Lines from queries to keys: one for each weight that is drawn, in few traces."""

import json

import numpy as np
import pytest
from plotly.graph_objects import Figure

from tests.figures.test_attention import a_pattern
from transformer_core.figures import DARK, LIGHT
from transformer_core.figures.bipartite import bipartite_lines
from transformer_core.figures.categories import HUES
from transformer_core.figures.theme import KEY, QUERY

QUERIES, KEYS = ("le", "<chat>", "le"), ("the", "cat", "the", "<eos>")


def lines(figure: Figure, hue: str = HUES[0]) -> dict[tuple[int, int], float]:
    """By query and key: how opaque the line is."""
    found: dict[tuple[int, int], float] = {}
    for trace in figure.data:
        if trace.mode != "lines" or trace.line.color != hue or trace.x[0] is None:
            continue
        points = np.array([trace.x, trace.y], dtype=float).T.reshape(-1, 3, 2)
        assert (
            (points[:, 0, 0] == 0).all() and (points[:, 1, 0] == 1).all() and np.isnan(points[:, 2]).all(axis=1).all()
        )
        found |= {(int(query), int(key)): trace.opacity for query, key in points[:, :2, 1].tolist()}
    return found


def test_a_line_for_each_weight_that_is_large_enough():
    pattern = np.array([[0.9, 0.05, 0.05, 0.0], [0.3, 0.3, 0.3, 0.1], [0.019, 0.0, 0.001, 0.98]])
    found = lines(bipartite_lines([pattern], QUERIES, KEYS))
    assert set(found) == {(q, k) for q, k in np.ndindex(3, 4) if pattern[q, k] >= 0.02}
    assert (0, 2) not in lines(bipartite_lines([pattern], QUERIES, KEYS, at_least=0.06))
    assert len(lines(bipartite_lines([pattern], QUERIES, KEYS, at_least=0.0))) == 10  # and none for a weight of zero


def test_the_stronger_the_more_opaque_and_strong_lines_lie_on_top():
    pattern = a_pattern(6, 6)[:, :6] ** 2 * 20
    pattern = np.minimum(pattern, 1)
    figure = bipartite_lines([pattern], "abcdef", "ghijkl")
    found = lines(figure)
    order = sorted(found, key=lambda cell: pattern[cell])
    assert (np.diff([found[cell] for cell in order]) >= 0).all()
    opacities = [trace.opacity for trace in figure.data if trace.opacity]
    assert opacities == sorted(opacities) and 0 < opacities[0] <= opacities[-1] <= 1


def test_a_head_has_few_traces_and_its_hue_and_name():
    patterns = [a_pattern(60, 60, seed) ** 0.1 for seed in range(3)]
    figure = bipartite_lines(patterns, ["x"] * 60, ["y"] * 60, names=["one", "<two>", "three"])
    assert len(figure.data) <= 3 * 11 + 1
    assert [trace.name for trace in figure.data if trace.showlegend] == ["one", "&lt;two&gt;", "three"]
    mine = bipartite_lines(patterns[:1], ["x"] * 60, ["y"] * 60, hues=["#123456"])
    assert len(lines(mine, "#123456")) == 3600 and not mine.layout.showlegend


def test_only_the_lines_of_what_is_chosen_are_drawn():
    pattern = np.full((3, 4), 0.25)
    figure = bipartite_lines([pattern], QUERIES, KEYS, chosen=(11, None), first_query=10)
    assert set(lines(figure)) == {(1, key) for key in range(4)}
    assert list(figure.layout.yaxis.ticktext) == ["le", "<b>&lt;chat&gt;</b>", "le"]
    assert set(lines(bipartite_lines([pattern], QUERIES, KEYS, chosen=(None, 2)))) == {(query, 2) for query in range(3)}
    assert set(lines(bipartite_lines([pattern], QUERIES, KEYS, chosen=(0, 3)))) == {(0, 3)}


def test_queries_are_on_the_left_and_keys_on_the_right_and_all_are_labelled():
    layout = bipartite_lines([a_pattern(3, 4)], QUERIES, KEYS).layout
    assert list(layout.yaxis.ticktext) == ["le", "&lt;chat&gt;", "le"] and layout.yaxis2.side == "right"
    assert list(layout.yaxis2.ticktext) == ["the", "cat", "the", "&lt;eos&gt;"]
    assert tuple(layout.yaxis.range) == tuple(layout.yaxis2.range) == (3.5, -0.5)
    query, key = layout.annotations
    assert (query.text, query.x, query.font.color) == ("<b>query</b>", 0, QUERY)
    assert (key.text, key.x, key.font.color) == ("<b>key</b>", 1, KEY)


def test_it_is_as_high_as_its_tokens_need():
    short, long = (bipartite_lines([a_pattern(n, n)], ["x"] * n, ["y"] * n).layout.height for n in (5, 105))
    assert (long - short) / 100 >= 16


def test_what_does_not_fit_is_said():
    with pytest.raises(ValueError, match="3 query labels and 4 key labels, and the patterns are 2 x 2"):
        bipartite_lines([a_pattern(2, 2)], QUERIES, KEYS)
    with pytest.raises(ValueError, match="patterns are none"):
        bipartite_lines([], QUERIES, KEYS)
    with pytest.raises(ValueError, match="2 names"):
        bipartite_lines([a_pattern(3, 4)], QUERIES, KEYS, names=["a", "b"])


def test_input_is_not_changed_and_the_theme_is_only_in_the_template():
    pattern = a_pattern(3, 4)
    before = pattern.copy()
    light, dark = (
        bipartite_lines([pattern], QUERIES, KEYS, names=["a"], chosen=(0, None), theme=theme).to_plotly_json()
        for theme in (LIGHT, DARK)
    )
    np.testing.assert_array_equal(pattern, before)
    assert light["layout"].pop("template") != dark["layout"].pop("template")
    assert json.dumps(light, default=str) == json.dumps(dark, default=str)
