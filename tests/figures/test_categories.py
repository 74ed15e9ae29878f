"""Hues of categories: seen on both backgrounds, and told apart without red or without green."""

from itertools import combinations

import numpy as np
import pytest

from tests.figures.test_theme import channels, contrast
from transformer_core.figures.categories import CHOSEN, HUES, category_hues
from transformer_core.figures.hues import FAINT
from transformer_core.figures.theme import THEMES, Theme

# Machado, Oliveira and Fernandes 2009, severity 1.0: what is seen without the red, and without the green cones.
EYES = {
    "all cones": np.eye(3),
    "no red cones": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "no green cones": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}


def cielab(linear: np.ndarray) -> np.ndarray:
    """CIELAB of linear red, green and blue, with the D65 white."""
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = np.cbrt(to_xyz @ linear.clip(0, 1) / [0.9505, 1, 1.089])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES.keys())
def test_every_hue_stands_out(theme: Theme):
    assert all(contrast(hue, theme.background) >= 3 for hue in HUES)


@pytest.mark.parametrize("eyes", EYES)
def test_any_two_hues_are_told_apart(eyes: str):
    seen = [cielab(EYES[eyes] @ channels(hue)) for hue in HUES]
    assert min(np.linalg.norm(one - other) for one, other in combinations(seen, 2)) > 8
    assert min(np.linalg.norm(one - other) for one, other in combinations(seen[:5], 2)) > 12


def test_there_is_a_hue_for_each_and_grey_for_what_is_too_many():
    assert category_hues(0) == []
    assert category_hues(3) == list(HUES[:3])
    assert category_hues(10) == [*HUES, FAINT, FAINT]
    assert CHOSEN in HUES
