"""The difference of two patterns: B minus A, around zero."""

import numpy as np
import pytest
from plotly.graph_objects import Figure, Heatmap

from headlight.figures import difference_heatmap
from tests.headlight.figures.heatmaps.test_attention import a_pattern

A, B = np.array([[0.75, 0.25], [0.0, 1.0]]), np.array([[0.25, 0.75], [0.001, 0.999]])


def heatmap(figure: Figure, name: str) -> Heatmap:
    return next(trace for trace in figure.data if trace.name == name)


def test_the_scale_is_fixed_around_zero_and_numbers_have_signs():
    axis = difference_heatmap(A, B, "ab", "cd").layout.coloraxis3
    assert (axis.cmin, axis.cmax) == (-1, 1)
    figure = difference_heatmap(A, B, "ab", "cd")
    assert {text for trace in figure.data if trace.type == "scatter" for text in trace.text} == {"+.50", "−.50"}


def test_forbidden_cells_are_not_zeros():
    mask = np.tril(np.ones((4, 4), dtype=bool))
    a, b = np.tril(a_pattern(4, 4)), np.tril(a_pattern(4, 4, seed=1))
    figure = difference_heatmap(a, b, "abcd", "abcd", mask=mask)
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
    figure = difference_heatmap(np.zeros((1, 1)), np.full((1, 1), change), "a", "b")
    texts = [[*trace.text] for trace in figure.data if trace.type == "scatter"]
    assert texts[is_deep] == ([text] if text else []) and texts[not is_deep] == []


def test_what_only_one_text_has_cannot_be_compared():
    """Of two aligned texts, one has a token that the other has not: NaN there."""
    a = A.copy()
    a[:, 1] = np.nan
    figure = difference_heatmap(a, B, ["le", "le"], ["the", "cat"])
    np.testing.assert_array_equal(np.isnan(heatmap(figure, "difference").z), [[False, True], [False, True]])
    assert heatmap(figure, "difference").customdata[0][1] == "query 0 'le' → key 1 'cat': masked"


def test_a_large_figure_leaves_its_words_to_the_browser():
    a, b = a_pattern(65, 65, seed=1), a_pattern(65, 65, seed=2)
    figure = difference_heatmap(a, b, ["x"] * 65, ["y"] * 65, names=("A", "<B>"))
    assert figure.layout.meta["words"]["before"] == "&lt;B&gt; − A = "
    assert figure.layout.meta["words"]["format"] == "+.2f"
    assert heatmap(figure, "difference").customdata is None
