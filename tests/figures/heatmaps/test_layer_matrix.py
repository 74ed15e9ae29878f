"""Layers of two models beside each other."""

import numpy as np

from transformer_core.figures.heatmaps.layer_matrix import layer_matrix

CKA = np.array([[1.0, 0.42, np.nan], [0.3, 0.9, 0.05]])


def test_layers_of_a_are_rows_those_of_b_columns_and_hover_is_in_words():
    figure = layer_matrix(CKA, names=("seed 0", "<1>"))
    np.testing.assert_array_equal(figure.data[0].z, CKA.astype(np.float32))
    assert tuple(figure.layout.yaxis.range) == (1.5, -0.5) and tuple(figure.layout.xaxis.range) == (-0.5, 2.5)
    assert figure.layout.yaxis.title.text == "<b>seed 0</b>: layer"
    assert figure.layout.xaxis.title.text == "<b>&lt;1&gt;</b>: layer"
    assert (figure.layout.coloraxis.cmin, figure.layout.coloraxis.cmax) == (0, 1)
    told = layer_matrix(CKA, names=("old", "new")).data[0].customdata
    assert told[0][1] == "old, layer 0<br>new, layer 1<br>CKA 0.42"
    assert told[0][2] == "old, layer 0<br>new, layer 2<br>CKA is undefined"
    named = layer_matrix(CKA, labels=(["embedding", "<0>"], ["a", "b", "c"])).data[0].customdata
    assert named[1][2] == "A, &lt;0&gt;<br>B, c<br>CKA 0.05"
