"""A map of heads: the hue is the cluster, the mark the model, and only distances count."""

import json

import numpy as np
import pytest
from plotly.graph_objects import Figure, Scatter

from transformer_core.figures import DARK, LIGHT
from transformer_core.figures.categories import HUES
from transformer_core.figures.heatmaps.head_map import head_map_figure

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
    (found,) = (trace for trace in figure.data if trace.name == name)
    return found


def test_each_head_has_a_mark_with_its_hue_and_shape():
    heads = trace(head_map_figure(POINTS, LABELS, **NAMES), "heads")
    np.testing.assert_array_equal(np.stack([heads.x, heads.y], axis=1), POINTS)
    assert list(heads.marker.color) == [HUES[0], HUES[1], HUES[0], HUES[1]]
    assert list(heads.marker.symbol) == ["circle", "circle", "diamond", "diamond"]


def test_hover_is_in_words():
    spoken = [f"L{label[0]}.H{label[2]}" for label in LABELS]
    heads = trace(head_map_figure(POINTS, LABELS, words=spoken, **NAMES), "heads")
    assert heads.customdata[2] == "<b>L1.H0</b><br>B<br>previous &lt;token&gt;"
    assert trace(head_map_figure(POINTS, LABELS), "heads").customdata[0] == "<b>0.0</b>"


def test_the_legend_names_clusters_and_more_than_one_model():
    figure = head_map_figure(POINTS, LABELS, **NAMES)
    named = [trace for trace in figure.data if trace.showlegend]
    assert [trace.name for trace in named] == ["previous &lt;token&gt;", "broad", "A", "B"]
    assert [trace.marker.symbol for trace in named] == ["circle", "circle", "circle", "diamond"]
    assert not head_map_figure(POINTS, LABELS).layout.showlegend


@pytest.mark.parametrize(("n", "n_lines"), [(0, 0), (1, 1), (3, 1), (4, 2), (7, 3)])
def test_the_legend_has_room_for_its_lines(n: int, n_lines: int):
    """A name of 20 letters takes 184 px, of 576."""
    layout = head_map_figure(POINTS, LABELS, cluster_names=["x" * 20] * n).layout
    assert layout.margin.b - head_map_figure(POINTS, LABELS).layout.margin.b == 22 * n_lines
    models = head_map_figure(POINTS, LABELS, model_names=["x" * 20] * n).layout
    assert models.margin.b == (layout if n > 1 else head_map_figure(POINTS, LABELS).layout).margin.b
    assert layout.legend.y * (540 - layout.margin.t - layout.margin.b) == pytest.approx(-34)  # below the axis title


def test_distances_are_true_and_directions_have_no_numbers():
    layout = head_map_figure(POINTS, LABELS, kept=0.783).layout
    assert layout.yaxis.scaleanchor == "x"
    assert not layout.xaxis.showticklabels and not layout.yaxis.showticklabels
    assert "distances" in layout.xaxis.title.text
    assert layout.title.subtitle.text.startswith("These two dimensions explain 78%")
    for axis, column in ((layout.xaxis, 0), (layout.yaxis, 1)):
        assert axis.range[0] < POINTS[:, column].min() and axis.range[1] > POINTS[:, column].max()
        assert np.mean(axis.range) == pytest.approx(POINTS[:, column].mean())  # in the middle of the figure
    across, down = (axis.range[1] - axis.range[0] for axis in (layout.xaxis, layout.yaxis))
    room = 600 - layout.margin.l - layout.margin.r, 540 - layout.margin.t - layout.margin.b
    assert across / room[0] == pytest.approx(down / room[1])


def test_labels_come_first_so_that_the_template_writes_them_in_the_color_of_text():
    figure = head_map_figure(POINTS, LABELS)
    labels = figure.data[0]
    assert labels.name == "labels" and list(labels.text) == LABELS
    np.testing.assert_array_equal(np.stack([labels.x, labels.y], axis=1), POINTS)
    crowded = head_map_figure(np.concatenate([np.zeros((30, 2)), POINTS]), ["7.7"] * 30 + LABELS)
    assert 4 <= len(crowded.data[0].text) <= 6


@pytest.mark.parametrize(("beside", "place"), [((0, 1), "bottom center"), ((0, -1), "top center")])
def test_a_label_stands_where_no_mark_is(beside: tuple[int, int], place: str):
    """The first head has neighbours on its left, its right, and above or below; the last two only set the scale."""
    points = np.array([(0, 0), (-1, 0), (1, 0), beside, (-14, -9), (14, 9)], dtype=float)
    figure = head_map_figure(points, [f"L0.H{i}" for i in range(len(points))])
    places = {text: at for one in figure.data if one.text for text, at in zip(one.text, one.textposition, strict=True)}
    assert places["L0.H0"] == place


def test_the_chosen_head_has_a_ring():
    ring = trace(head_map_figure(POINTS, LABELS, chosen=1), "chosen")
    assert (ring.x[0], ring.y[0], ring.marker.symbol) == (4, 0, "circle-open")
    assert ring.marker.size > trace(head_map_figure(POINTS, LABELS), "heads").marker.size


@pytest.mark.parametrize("points", [np.zeros((0, 2)), np.zeros((1, 2)), np.zeros((3, 2))])
def test_none_one_and_alike_heads_are_no_trouble(points: np.ndarray):
    layout = head_map_figure(points, LABELS[: len(points)]).layout
    assert all(np.isfinite(layout.xaxis.range)) and layout.xaxis.range[0] < layout.xaxis.range[1]


def test_what_does_not_fit_is_said():
    with pytest.raises(ValueError, match="4 heads and 3 labels"):
        head_map_figure(POINTS, LABELS[:3])
    with pytest.raises(ValueError, match="1 cluster names, but cluster 1"):
        head_map_figure(POINTS, LABELS, clusters=CLUSTERS, cluster_names=["a"])
    with pytest.raises(ValueError, match="1 models with names, but model 1"):
        head_map_figure(POINTS, LABELS, models=MODELS, model_names=["a"])


def test_input_is_not_changed_and_the_theme_is_only_in_the_template():
    before = POINTS.copy()
    light, dark = (head_map_figure(POINTS, LABELS, chosen=1, theme=t, **NAMES).to_plotly_json() for t in (LIGHT, DARK))
    np.testing.assert_array_equal(POINTS, before)
    assert light["layout"].pop("template") != dark["layout"].pop("template")
    assert json.dumps(light, default=str) == json.dumps(dark, default=str)
