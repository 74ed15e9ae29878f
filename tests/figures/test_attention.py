"""The heatmap of one head: its axes, its range, its words."""

import html
import json

import numpy as np
import pytest
from plotly.graph_objects import Figure, Heatmap

from transformer_core.figures import DARK, LIGHT, attention_heatmap, isolate
from transformer_core.figures.attention import LABEL_LENGTH, hover_words, shorten

QUERIES, KEYS = ("<bos>", "le", "chat", "le"), ("the", "cat", "the", "<eos>")


def a_pattern(n_queries: int, n_keys: int, seed: int = 0) -> np.ndarray:
    """Rows of positive weights that sum to 1."""
    weights = np.random.default_rng(seed).random((n_queries, n_keys)).astype(np.float32)
    return weights / weights.sum(axis=1, keepdims=True)


def heatmap(figure: Figure, name: str) -> Heatmap:
    """The trace of that name."""
    return next(trace for trace in figure.data if trace.name == name)


def test_axes_are_integer_positions_with_the_tokens_as_text():
    figure = attention_heatmap(a_pattern(4, 4), QUERIES, KEYS)
    assert list(figure.layout.xaxis.tickvals) == list(figure.layout.yaxis.tickvals) == [0, 1, 2, 3]
    assert [html.unescape(text) for text in figure.layout.xaxis.ticktext] == list(KEYS)  # both "the" are there
    assert [html.unescape(text) for text in figure.layout.yaxis.ticktext] == list(QUERIES)


def test_queries_run_from_top_to_bottom_and_keys_from_left_to_right():
    layout = attention_heatmap(a_pattern(3, 5), "abc", "vwxyz").layout
    assert tuple(layout.yaxis.range) == (2.5, -0.5)
    assert tuple(layout.xaxis.range) == (-0.5, 4.5)


def test_axes_and_title_say_what_they_are():
    layout = attention_heatmap(a_pattern(2, 2), "ab", "cd", title="Attention pattern: layer 0, head 1").layout
    assert layout.title.text == "Attention pattern: layer 0, head 1"
    assert "query" in layout.yaxis.title.text
    assert "key" in layout.xaxis.title.text


def test_the_range_of_colors_is_fixed():
    pattern = np.full((2, 2), 0.5, dtype=np.float32)
    color_axis = attention_heatmap(pattern, "ab", "cd").layout.coloraxis
    assert (color_axis.cmin, color_axis.cmax) == (0, 1)


def test_values_are_the_pattern():
    pattern = a_pattern(4, 4)
    np.testing.assert_array_equal(heatmap(attention_heatmap(pattern, QUERIES, KEYS), "attention").z, pattern)


def test_forbidden_cells_are_not_zeros():
    pattern, mask = np.tril(a_pattern(4, 4)), np.tril(np.ones((4, 4), dtype=bool))
    figure = attention_heatmap(pattern, QUERIES, KEYS, mask=mask)
    attention, forbidden = heatmap(figure, "attention"), heatmap(figure, "not allowed by the mask")
    np.testing.assert_array_equal(np.isnan(attention.z), ~mask)
    np.testing.assert_array_equal(np.isnan(forbidden.z), mask)
    assert attention.coloraxis != forbidden.coloraxis
    assert "not allowed by the mask" in forbidden.customdata[0][3]


def test_hover_is_in_words():
    words = hover_words(np.array([[0.42, 0.58]]), ["sat"], ["cat", "mat"])
    assert words == [["query 0 'sat' → key 0 'cat': 0.42", "query 0 'sat' → key 1 'mat': 0.58"]]
    figure = attention_heatmap(a_pattern(4, 4), QUERIES, KEYS)
    assert "%{customdata}" in heatmap(figure, "attention").hovertemplate


def test_hover_keeps_words_from_right_to_left_apart():
    assert hover_words(np.array([[1.0]]), ["قط"], ["cat"]) == [["query 0 '\u2068قط\u2069' → key 0 'cat': 1.00"]]


def test_numbers_are_written_where_there_is_room():
    small = attention_heatmap(np.array([[0.96, 0.04], [0.3, 0.7]]), "ab", "cd")
    written = {text for trace in small.data if trace.type == "scatter" for text in trace.text}
    assert written == {".96", ".30", ".70"}
    large = attention_heatmap(a_pattern(40, 40), ["x"] * 40, ["y"] * 40)
    assert all(trace.type == "heatmap" for trace in large.data)


@pytest.mark.parametrize("n", [1, 4, 16, 33, 64])
def test_labels_never_crowd(n: int):
    layout = attention_heatmap(a_pattern(n, n), [f"word{i}" for i in range(n)], [f"word{i}" for i in range(n)]).layout
    for axis, room in ((layout.xaxis, 600), (layout.yaxis, 540)):
        assert axis.tickvals[0] == 0
        assert len(axis.tickvals) * 12 <= room
        assert len(axis.tickvals) == len(axis.ticktext)


def test_long_tokens_are_shortened_on_the_axis_and_whole_on_hover():
    token = "anticonstitutionnellement"
    figure = attention_heatmap(np.ones((1, 1)), [token], [token])
    assert figure.layout.xaxis.ticktext[0] == shorten(token)
    assert len(shorten(token)) == LABEL_LENGTH
    assert token in heatmap(figure, "attention").customdata[0][0]


def test_tokens_are_never_markup():
    token = "<b>&amp;"
    figure = attention_heatmap(np.ones((1, 1)), [token], [token], title="<i>x")
    assert figure.layout.xaxis.ticktext[0] == "&lt;b&gt;&amp;amp;"
    assert figure.layout.title.text == "&lt;i&gt;x"
    assert "<b>" not in heatmap(figure, "attention").customdata[0][0]


def test_input_is_not_changed():
    pattern, mask = a_pattern(3, 3), np.tril(np.ones((3, 3), dtype=bool))
    before = pattern.copy(), mask.copy()
    attention_heatmap(pattern, "abc", "abc", mask=mask)
    np.testing.assert_array_equal(pattern, before[0])
    np.testing.assert_array_equal(mask, before[1])


def test_the_theme_is_only_in_the_template():
    light = attention_heatmap(a_pattern(4, 4), QUERIES, KEYS, theme=LIGHT).to_plotly_json()
    dark = attention_heatmap(a_pattern(4, 4), QUERIES, KEYS, theme=DARK).to_plotly_json()
    assert light["layout"].pop("template") != dark["layout"].pop("template")
    assert json.dumps(light["layout"], default=str) == json.dumps(dark["layout"], default=str)


def test_labels_must_fit():
    with pytest.raises(ValueError, match="3 query labels"):
        attention_heatmap(a_pattern(2, 2), "abc", "ab")


@pytest.mark.parametrize("token", ["", "cat", "<unk>", "42", "\u732b"])
def test_a_left_to_right_token_comes_back_as_it_is(token: str):
    assert isolate(token) == token


@pytest.mark.parametrize("token", ["\u05e9\u05dc\u05d5\u05dd", "<unk> \u0645\u0631\u062d\u0628\u0627"])
def test_a_right_to_left_token_does_not_turn_the_words_beside_it(token: str):
    """First strong isolate, the token, pop isolate: Unicode Standard Annex #9, sec. 2.4."""
    assert isolate(token) == f"\u2068{token}\u2069"
