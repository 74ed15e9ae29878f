"""Heads of two models beside each other: each pair a cell, each matched pair a frame."""

import json

import numpy as np
import pytest

from transformer_core.figures import DARK, LIGHT, head_matrix

SIMILARITY = np.array([[0.2, 0.9, 0.3, 0.1], [0.8, 0.4, 0.3, 0.2], [0.1, 0.2, 0.95, 0.3], [0.5, 0.4, 0.3, 0.7]])
PARTNERS = np.array([1, 0, 2, 3])


def test_values_are_the_similarities_in_a_fixed_range():
    figure = head_matrix(SIMILARITY, PARTNERS, n_heads=2)
    np.testing.assert_allclose(figure.data[0].z, SIMILARITY, rtol=1e-6)
    assert (figure.layout.coloraxis.cmin, figure.layout.coloraxis.cmax) == (0, 1)


def test_heads_of_a_are_rows_from_top_to_bottom_and_those_of_b_columns():
    layout = head_matrix(SIMILARITY, PARTNERS, n_heads=2, names=("seed 0", "<1>")).layout
    assert tuple(layout.yaxis.range) == (3.5, -0.5) and tuple(layout.xaxis.range) == (-0.5, 3.5)
    assert list(layout.xaxis.ticktext) == list(layout.yaxis.ticktext) == ["L0.H0", "L0.H1", "L1.H0", "L1.H1"]
    assert "seed 0" in layout.yaxis.title.text and "&lt;1&gt;" in layout.xaxis.title.text


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


def test_hover_is_in_words():
    words = head_matrix(SIMILARITY, PARTNERS, n_heads=2, names=("old", "new")).data[0].customdata
    assert words[0][1] == "old: L0.H0<br>new: L0.H1<br>similarity 0.90, matched"
    assert words[3][3] == "old: L1.H1<br>new: L1.H1<br>similarity 0.70, matched, same index"
    assert words[0][2] == "old: L0.H0<br>new: L1.H0<br>similarity 0.30"


@pytest.mark.parametrize("n_layers", [1, 6, 12])
def test_labels_do_not_crowd(n_layers: int):
    n = 8 * n_layers
    layout = head_matrix(np.full((n, n), 0.5), np.arange(n), n_heads=8).layout
    assert len(layout.xaxis.tickvals) * 9 <= 420
    for axis in (layout.xaxis, layout.yaxis):
        assert [*axis.ticktext] == [f"L{place // 8}.H{place % 8}" for place in axis.tickvals]
        assert [*axis.tickvals] == list(range(0, n, 1 if n <= 40 else 8))  # else each layer
    assert layout.xaxis.tickangle == (0 if len(layout.xaxis.tickvals) <= 12 else -90)


def test_the_theme_is_only_in_the_template():
    light, dark = (
        head_matrix(SIMILARITY, PARTNERS, n_heads=2, theme=theme).to_plotly_json() for theme in (LIGHT, DARK)
    )
    assert light["layout"].pop("template") != dark["layout"].pop("template")
    assert json.dumps(light, default=str) == json.dumps(dark, default=str)
