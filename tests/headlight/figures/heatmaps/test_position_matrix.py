"""Matrices of positions: where their cells lie, what is written into them and said of them."""

import numpy as np

from headlight.figures.heatmaps.cells import MOST_TEXTS
from headlight.figures.heatmaps.position_matrix import MatrixAxis, position_matrix

VALUES = np.array([[1.0, -0.25, np.nan], [0.0, 0.46416, -1.0]])
ROWS = MatrixAxis(title="position", words=["position 0", "position 1"])
COLUMNS = MatrixAxis(title="dimension", words=["a", "<b>", "c"], ticks=["sin\n÷ 1", "cos\n÷ 1", "<c>"])


def test_hover_is_in_words_and_a_large_one_leaves_them_to_the_browser():
    text = position_matrix(VALUES, ROWS, COLUMNS, title="T", what="product").data[0].customdata
    assert text[0][1] == "position 0 → &lt;b&gt;: product −0.25" and text[0][2] == ""
    n = int(MOST_TEXTS**0.5) + 1
    side = MatrixAxis(title="position", words=[f"position {place}" for place in range(n)])
    figure = position_matrix(np.zeros((n, n)), side, side, title="T", what="product", decimals=3)
    words = figure.layout.meta["words"]
    assert figure.data[0].customdata is None and figure.data[0].meta == "words" and len(figure.data) == 1
    assert words["format"] == ".3f" and words["before"] == "product " and list(words["keys"]) == list(side.words)


def test_numbers_are_left_out_where_there_is_no_room():
    side = MatrixAxis(title="position", words=[str(place) for place in range(60)])
    figure = position_matrix(np.zeros((60, 60)), side, side, title="T", diverging=False, cut=30)
    assert len(figure.data) == 1 and figure.layout.coloraxis.cmin == 0
    assert [(s.x0, s.x1, s.y0, s.y1) for s in figure.layout.shapes] == [(29.5, 29.5, -0.5, 59.5)]
    assert len(position_matrix(VALUES, ROWS, COLUMNS, title="T", has_numbers=False).data) == 1
