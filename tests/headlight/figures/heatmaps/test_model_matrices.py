"""Heads of two models beside each other: each pair a cell, each matched pair a frame."""

import numpy as np

from headlight.figures import head_matrix

SIMILARITY = np.array([[0.2, 0.9, 0.3, 0.1], [0.8, 0.4, 0.3, 0.2], [0.1, 0.2, 0.95, 0.3], [0.5, 0.4, 0.3, 0.7]])
PARTNERS = np.array([1, 0, 2, 3])


def test_each_matched_pair_has_a_frame_and_layers_are_parted():
    shapes = head_matrix(SIMILARITY, PARTNERS, n_heads=2).layout.shapes
    frames = {((s.y0 + s.y1) / 2, (s.x0 + s.x1) / 2) for s in shapes if s.type == "rect"}
    assert frames == {(0, 1), (1, 0), (2, 2), (3, 3)}
    lines = {(s.x0, s.x1, s.y0, s.y1) for s in shapes if s.type == "line"}
    assert lines == {(1.5, 1.5, -0.5, 3.5), (-0.5, 3.5, 1.5, 1.5)}
