"""Layers of two models beside each other."""

import json

import numpy as np
import pytest

from transformer_core.figures import DARK, LIGHT
from transformer_core.figures.heatmaps.layer_matrix import layer_matrix

CKA = np.array([[1.0, 0.42, np.nan], [0.3, 0.9, 0.05]])


def test_layers_of_a_are_rows_and_those_of_b_columns():
    figure = layer_matrix(CKA, names=("seed 0", "<1>"))
    np.testing.assert_array_equal(figure.data[0].z, CKA.astype(np.float32))
    assert tuple(figure.layout.yaxis.range) == (1.5, -0.5) and tuple(figure.layout.xaxis.range) == (-0.5, 2.5)
    assert figure.layout.yaxis.title.text == "<b>seed 0</b>: layer"
    assert figure.layout.xaxis.title.text == "<b>&lt;1&gt;</b>: layer"
    assert (figure.layout.coloraxis.cmin, figure.layout.coloraxis.cmax) == (0, 1)


def test_hover_is_in_words():
    told = layer_matrix(CKA, names=("old", "new")).data[0].customdata
    assert told[0][1] == "old, layer 0<br>new, layer 1<br>CKA 0.42"
    assert told[0][2] == "old, layer 0<br>new, layer 2<br>CKA is undefined"
    named = layer_matrix(CKA, labels=(["embedding", "<0>"], ["a", "b", "c"])).data[0].customdata
    assert named[1][2] == "A, &lt;0&gt;<br>B, c<br>CKA 0.05"


def test_numbers_are_in_the_cells_of_a_small_one():
    figure = layer_matrix(CKA)
    pale, deep = (trace for trace in figure.data if trace.type == "scatter")
    assert (list(pale.text), list(deep.text)) == ([".30", ".05"], ["1.00", ".42", ".90"])
    assert [(*trace.y, *trace.x) for trace in (pale, deep)] == [(1, 1, 0, 2), (0, 0, 1, 0, 1, 1)]
    assert all(trace.type == "heatmap" for trace in layer_matrix(np.ones((25, 25))).data)


@pytest.mark.parametrize("n", [1, 12, 96])
def test_labels_never_crowd(n: int):
    layout = layer_matrix(np.ones((n, n))).layout
    for axis, room in ((layout.xaxis, 480), (layout.yaxis, 420)):
        assert len(axis.tickvals) * 14 <= room and [*axis.ticktext] == [str(place) for place in axis.tickvals]
        assert len(axis.tickvals) > min(n, room / 14) / 2.5  # not thinner than need be
    long = layer_matrix(np.ones((n, n)), labels=(["residual after attention"] * n,) * 2).layout
    assert long.margin.t > layout.margin.t or n == 1


def test_labels_must_fit():
    with pytest.raises(ValueError, match="2 rows and 3 columns, but 3 and 2 labels"):
        layer_matrix(CKA, labels=(["a", "b", "c"], ["d", "e"]))


def test_input_is_not_changed_and_the_theme_is_only_in_the_template():
    before = CKA.copy()
    light, dark = (layer_matrix(CKA, theme=theme).to_plotly_json() for theme in (LIGHT, DARK))
    np.testing.assert_array_equal(CKA, before)
    assert light["layout"].pop("template") != dark["layout"].pop("template")
    assert json.dumps(light, default=str) == json.dumps(dark, default=str)
