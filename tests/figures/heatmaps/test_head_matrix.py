"""Heads of two models beside each other: each pair a cell, each matched pair a frame."""

import numpy as np

from transformer_core.figures import head_matrix

SIMILARITY = np.array([[0.2, 0.9, 0.3, 0.1], [0.8, 0.4, 0.3, 0.2], [0.1, 0.2, 0.95, 0.3], [0.5, 0.4, 0.3, 0.7]])
PARTNERS = np.array([1, 0, 2, 3])


def test_heads_of_a_are_rows_those_of_b_columns_and_hover_is_in_words():
    layout = head_matrix(SIMILARITY, PARTNERS, n_heads=2, names=("seed 0", "<1>")).layout
    assert tuple(layout.yaxis.range) == (3.5, -0.5) and tuple(layout.xaxis.range) == (-0.5, 3.5)
    assert list(layout.xaxis.ticktext) == list(layout.yaxis.ticktext) == ["L0.H0", "L0.H1", "L1.H0", "L1.H1"]
    assert "seed 0" in layout.yaxis.title.text and "&lt;1&gt;" in layout.xaxis.title.text
    words = head_matrix(SIMILARITY, PARTNERS, n_heads=2, names=("old", "new")).data[0].customdata
    assert words[0][1] == "old: L0.H0<br>new: L0.H1<br>similarity 0.90, matched"
    assert words[3][3] == "old: L1.H1<br>new: L1.H1<br>similarity 0.70, matched, same index"
    assert words[0][2] == "old: L0.H0<br>new: L1.H0<br>similarity 0.30"


def test_each_matched_pair_has_a_frame_and_layers_are_parted():
    shapes = head_matrix(SIMILARITY, PARTNERS, n_heads=2).layout.shapes
    frames = {((s.y0 + s.y1) / 2, (s.x0 + s.x1) / 2) for s in shapes if s.type == "rect"}
    assert frames == {(0, 1), (1, 0), (2, 2), (3, 3)}
    lines = {(s.x0, s.x1, s.y0, s.y1) for s in shapes if s.type == "line"}
    assert lines == {(1.5, 1.5, -0.5, 3.5), (-0.5, 3.5, 1.5, 1.5)}
    asymmetric = head_matrix(SIMILARITY, np.array([1, 2, 0, 3]), n_heads=4).layout.shapes
    assert [(s.type, s.y0, s.y1, s.x0, s.x1) for s in asymmetric][:2] == [
        ("rect", -0.5, 0.5, 0.5, 1.5),
        ("rect", 0.5, 1.5, 1.5, 2.5),
    ]
