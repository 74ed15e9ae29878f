"""What holds for every figure: the theme is only in its template, its input is left unchanged, and has to fit."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from plotly.graph_objects import Figure

from headlight import figures
from headlight.analysis.training.curves import Curve
from headlight.figures.architecture.activation import activation_figure
from headlight.figures.bars.label_bars import blank_bars, label_bars
from headlight.figures.curves.lines import Line, line_figure
from headlight.figures.heatmaps.all_heads import all_heads
from headlight.figures.heatmaps.decoding import alignment_matrix, step_rows
from headlight.figures.heatmaps.kv_cache import cost_lines, kv_cache_grid
from headlight.figures.heatmaps.mask_moved import moved_pair
from headlight.figures.heatmaps.number_panels import number_panels
from headlight.figures.heatmaps.position_matrix import MatrixAxis, position_matrix
from headlight.figures.heatmaps.score_sources import score_sources_heatmap
from headlight.figures.quantities import QUANTITIES, QuantityName


def weights(*shape: int) -> np.ndarray:
    """Positive numbers whose rows sum to 1, which nobody may change."""
    values = np.random.default_rng(shape).random(shape)
    values /= values.sum(axis=-1, keepdims=True)
    values.flags.writeable = False
    return values


def all_heads_of_two_layers() -> Figure:
    masks = {"A": np.tri(3, dtype=bool)[None].repeat(2, axis=0)}
    return all_heads({"A": weights(2, 2, 3, 3)}, masks, title="t", chosen=("A", 1, 0))


def activation() -> Figure:
    counts, edges = np.array([1, 4]), np.array([-3.0, 0.0, 3.0])
    return activation_figure(weights(2, 3), "ab", title="t", counts=counts, edges=edges)


def curves() -> Figure:
    drawn = {"loss": Curve(np.arange(1, 9), weights(8)), "gradient_norm": Curve(np.arange(1, 9), weights(8))}
    marks: dict[str, Any] = {"references": {"unigrams": 5.0}, "appearances": [(3, "A.")], "snapshot": 7}
    return figures.training_curves(drawn, **marks)


def over_time() -> Figure:
    given = {"cross": weights(2, 3, 5)}
    marks: dict[str, Any] = {"chances": given, "threshold": 0.3, "chosen": ("cross", 0, 0), "snapshot": 5}
    return figures.heads_over_time(np.array([0, 1, 5, 20, 100]), given, **marks)


def by_quantity(name: QuantityName) -> dict[str, Callable[[], Figure]]:
    """Draw one quantity as a heatmap, and as bars."""
    return {
        f"heatmap of {name}": lambda: figures.attention_heatmap(
            weights(2, 3), figures.TokenGrid("ab", "cde", marked=(1, 1)), quantity=name
        ),
        f"row of {name}": lambda: figures.row_bars(
            weights(3), figures.TokenGrid("d", "abc", first_query=3, marked=(None, 1)), quantity=name
        ),
    }


FIGURES: dict[str, Callable[[], Figure]] = {
    **{title: draw for name in QUANTITIES for title, draw in by_quantity(name).items()},
    "all heads": all_heads_of_two_layers,
    "activation": activation,
    "training": curves,
    "heads over time": over_time,
    "alignment": lambda: alignment_matrix(
        weights(4, 3), figures.TokenGrid("abcd", "efg", marked=(1, None)), n_shown=2, truth={(0, 0)}, links={(1, 1)}
    ),
    "attention as lines": lambda: figures.bipartite_lines(
        [weights(3, 4)], figures.TokenGrid("abc", "defg", marked=(0, None)), names=["a"]
    ),
    "blanks": lambda: blank_bars(
        [weights(2), weights(3)], ["ab", "cde"], names="xy", entropies=weights(2), next_one=0, filled={1}
    ),
    "sources": lambda: score_sources_heatmap(weights(2, 3), "ab", "cde", query="q", key="k", title="t"),
    "spread": lambda: figures.texts_spread(weights(4), "abcd", measure="m", chosen=1, levels={"a": 0.2}),
    "step": lambda: step_rows(
        weights(3, 3), figures.TokenGrid(("0.0", "0.1", "mean"), "abc", marked=(1, None)), title="t"
    ),
    "difference": lambda: figures.difference_heatmap(weights(2, 3), weights(2, 3), figures.TokenGrid("ab", "cde")),
    "grid": lambda: figures.head_grid(weights(2, 3), title="t", chosen=(0, 1)),
    "map": lambda: figures.head_map_figure(weights(3, 2), "abc", chosen=1, cluster_names=["c"]),
    "heads of two models": lambda: figures.head_matrix(weights(4, 4), np.arange(4), n_heads=2),
    "layers": lambda: figures.layer_matrix(weights(2, 3)),
    "cache": lambda: kv_cache_grid("abc", n_layers=2, n_cached=2, source_labels="de"),
    "costs": lambda: cost_lines(np.array([1, 2]), np.array([2, 3]), at=0),
    "lines": lambda: line_figure(
        np.arange(3), [Line(name="a", values=weights(3))], title="t", x_title="x", y_title="y", levels={"l": 0.1}
    ),
    "positions": lambda: position_matrix(
        weights(2, 3), *(MatrixAxis(title="s", words=words) for words in ("ab", "cde")), title="t", cut=1
    ),
}


@pytest.mark.parametrize("name", FIGURES)
def test_the_theme_is_only_in_the_template_and_no_input_is_written(name: str):
    figure = FIGURES[name]()
    assert figure.layout.template == figures.template(figures.LIGHT)
    text = str(figure.to_plotly_json()["data"]) + str(figure.update_layout(template=None).layout)
    grounds = {
        color
        for theme in (figures.LIGHT, figures.DARK)
        for color in (theme.background, theme.surface, theme.text, theme.muted)
    }
    assert not [color for color in grounds if color in text.upper()]


def frame_one_of_all_heads(*chosen: Any) -> Figure:
    return all_heads({"A": weights(1, 2, 2, 2)}, {"A": np.ones((1, 2, 2), dtype=bool)}, title="t", chosen=chosen)


def curve(*values: float) -> Figure:
    return line_figure(np.arange(5), [Line(name="b", values=np.array(values))], title="t", x_title="x", y_title="y")


def moved(n_rows: int) -> Figure:
    zeros = np.zeros((n_rows, 2), dtype=np.float32)
    return moved_pair((zeros, zeros), figures.TokenGrid("ab", "ab"), titles=("a", "b"), hover_form="", title="t")


REFUSALS: list[tuple[str, Callable[[], object]]] = [
    (
        "4 queries and 3 keys, but there are 3",
        lambda: alignment_matrix(weights(4, 3), figures.TokenGrid("abc", "efg"), n_shown=1),
    ),
    ("5 rows cannot be shown", lambda: alignment_matrix(weights(4, 3), figures.TokenGrid("abcd", "efg"), n_shown=5)),
    (
        "2 queries and 2 keys, but there are 3 query labels and 4",
        lambda: figures.bipartite_lines([weights(2, 2)], figures.TokenGrid("abc", "defg")),
    ),
    (
        "2 blanks with 5 candidates, 4 labels",
        lambda: blank_bars([weights(2), weights(3)], ["ab", "cd"], names="xy", entropies=weights(2)),
    ),
    (
        "one to three kinds of bars",
        lambda: label_bars({"": np.ones(2)}, "abc", title="t", label_name="", value_name="v"),
    ),
    (
        "3 keys, but there are 1 query labels and 4",
        lambda: figures.row_bars(weights(3), figures.TokenGrid("x", "abcd")),
    ),
    (
        "2 rows and 3 columns, but 1 and 3",
        lambda: score_sources_heatmap(weights(2, 3), "a", "cde", query="q", key="k", title="t"),
    ),
    ("4 values and 3 texts", lambda: figures.texts_spread(weights(4), "abc", measure="m")),
    (
        "but there are 2 query labels",
        lambda: step_rows(weights(3, 3), figures.TokenGrid(("0.0", "0.1"), "abc"), title="t"),
    ),
    ("5 places, but 4 values of 'b'", lambda: curve(1, 2, 3, 4)),
    ("2 query labels", lambda: figures.attention_heatmap(weights(3, 2), figures.TokenGrid("ab", "cd"))),
    ("no head", lambda: figures.head_grid(weights(2, 3), title="t", chosen=(0, -1))),
    ("3 heads and 2 labels", lambda: figures.head_map_figure(weights(3, 2), "ab")),
    (
        "1 cluster names, but cluster 1",
        lambda: figures.head_map_figure(weights(3, 2), "abc", clusters=np.array([0, 1, 0]), cluster_names=["a"]),
    ),
    ("4 positions are stored, but there are 3", lambda: kv_cache_grid("abc", n_layers=2, n_cached=4)),
    ("2 rows and 3 columns, but 3 and 2", lambda: figures.layer_matrix(weights(2, 3), labels=("abc", "de"))),
    ("3 queries and 2 keys, but there are 2", lambda: moved(3)),
    (
        "but there are 2 and 3 labels",
        lambda: number_panels({"a": weights(3, 3)}, figures.TokenGrid("ab", "cde"), title="t"),
    ),
    (
        "2 by 3 numbers, but words for 3",
        lambda: position_matrix(weights(2, 3), *[MatrixAxis(title="", words="abc")] * 2, title="t"),
    ),
    *(("no head", lambda at=at: frame_one_of_all_heads(*at)) for at in (("A", 1, 0), ("A", 0, -1), ("B", 0, 0))),
]


@pytest.mark.parametrize("case", range(len(REFUSALS)), ids=[text for text, _ in REFUSALS])
def test_what_does_not_fit_is_refused_with_what_there_is(case: int):
    text, draw = REFUSALS[case]
    with pytest.raises(ValueError, match=text):
        draw()
