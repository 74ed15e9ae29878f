"""A map of heads: the hue is the cluster, the mark the model, and only distances count."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plotly.graph_objects import Figure, Scatter

from headlight.figures.heatmaps.head_map import head_map_figure, label_sides
from headlight.figures.labels import LINE, text_width
from headlight.figures.theme import HUES

POINTS = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 1.0], [4.0, 1.0]])
LABELS = ["0.0", "0.1", "1.0", "1.1"]
CLUSTERS, MODELS = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
NAMES = {
    "clusters": CLUSTERS,
    "cluster_names": ["previous <token>", "broad"],
    "models": MODELS,
    "model_names": ["A", "B"],
}


def trace(figure: Figure, name: str) -> Scatter:
    (actual,) = (trace for trace in figure.data if trace.name == name)
    return actual


def test_each_head_has_a_mark_words_and_a_place_in_the_legend():
    heads = trace(head_map_figure(POINTS, LABELS, **NAMES), "heads")
    np.testing.assert_array_equal(np.stack([heads.x, heads.y], axis=1), POINTS)
    assert list(heads.marker.color) == [HUES[0], HUES[1], HUES[0], HUES[1]]
    assert list(heads.marker.symbol) == ["circle", "circle", "diamond", "diamond"]
    figure = head_map_figure(POINTS, LABELS, **NAMES)
    named = [trace for trace in figure.data if trace.showlegend]
    assert [trace.name for trace in named] == ["previous &lt;token&gt;", "broad", "A", "B"]


def test_distances_are_true():
    layout = head_map_figure(POINTS, LABELS).layout
    assert layout.yaxis.scaleanchor == "x"
    for axis, column in ((layout.xaxis, 0), (layout.yaxis, 1)):
        assert axis.range[0] < POINTS[:, column].min() and axis.range[1] > POINTS[:, column].max()
        assert np.mean(axis.range) == pytest.approx(POINTS[:, column].mean())  # in the middle of the figure
    across, down = (axis.range[1] - axis.range[0] for axis in (layout.xaxis, layout.yaxis))
    room = 600 - layout.margin.l - layout.margin.r, 540 - layout.margin.t - layout.margin.b
    assert across / room[0] == pytest.approx(down / room[1])


@pytest.mark.parametrize("points", [np.zeros((0, 2)), np.zeros((1, 2)), np.zeros((3, 2))])
def test_none_one_and_alike_heads_are_no_trouble(points: np.ndarray):
    layout = head_map_figure(points, LABELS[: len(points)]).layout
    assert all(np.isfinite(layout.xaxis.range)) and layout.xaxis.range[0] < layout.xaxis.range[1]


SIZE = (300.0, 200.0)
WAY = {"middle right": (1, 0), "middle left": (-1, 0), "top center": (0, -1), "bottom center": (0, 1)}


def boxes(points: np.ndarray, texts: list[str], sides: list[str], radius: float) -> dict[int, tuple[float, ...]]:
    """The left, top, right and bottom of each label."""
    results: dict[int, tuple[float, ...]] = {}
    for i, (side, text) in enumerate(zip(sides, texts, strict=True)):
        if side:
            width = 0.85 * text_width(text)
            x = points[i][0] + WAY[side][0] * (radius + width / 2)
            y = points[i][1] + WAY[side][1] * (radius + LINE / 2)
            results[i] = (x - width / 2, y - LINE / 2, x + width / 2, y + LINE / 2)
    return results


def apart(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    slack = 1e-6
    return (
        one[2] <= other[0] + slack
        or other[2] <= one[0] + slack
        or one[3] <= other[1] + slack
        or other[3] <= one[1] + slack
    )


@given(st.integers(0, 1000), st.integers(0, 40))
def test_labels_cover_nothing_and_are_within(seed: int, n: int):
    points = np.random.default_rng(seed).random((n, 2)) * SIZE
    texts = [f"{i // 8}.{i % 8}" for i in range(n)]
    sides = label_sides(points, texts, size=SIZE, radii=np.full(n, 6.0))
    assert len(sides) == n
    actual = boxes(points, texts, sides, 6.0)
    marks = [(x - 6, y - 6, x + 6, y + 6) for x, y in points.tolist()]
    for i, box in actual.items():
        assert min(box) >= 0 and box[2] <= SIZE[0] and box[3] <= SIZE[1]
        assert all(apart(box, mark) for j, mark in enumerate(marks) if i != j)
        assert all(apart(box, other) for j, other in actual.items() if i != j)


def test_labels_by_hand():
    points = np.array([[100.0, 100.0], [290.0, 100.0], [115.0, 100.0]])
    sides = label_sides(points, ["0.0", "0.1", "0.2"], size=SIZE, radii=np.full(3, 6.0))
    assert sides == ["middle left", "middle left", "middle right"]  # a neighbour, and the edge, stand in the way
