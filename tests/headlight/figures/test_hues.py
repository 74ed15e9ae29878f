"""Hues that are the same in light and in dark: each is seen on both backgrounds, and their order is seen, too."""

from itertools import combinations

import numpy as np
import pytest

from headlight.figures.hues import (
    FAINT,
    HUES,
    STRONG,
    WARM,
    diverging_scale,
    layer_hues,
    mask_colors,
)
from headlight.figures.theme import THEMES, Theme
from tests.headlight.figures.test_theme import channels, contrast

THEME = pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES.keys())


@THEME
@pytest.mark.parametrize("n_layers", [1, 2, 4, 12])
def test_every_hue_stands_out_from_both_backgrounds(theme: Theme, n_layers: int):
    for hue in (FAINT, STRONG, WARM, *HUES, *layer_hues(n_layers)):
        assert contrast(hue, theme.background) >= 3


def test_layers_go_from_indigo_to_orange_in_an_order_that_needs_no_red_and_green():
    hues = layer_hues(6)
    assert (hues[0], hues[-1]) == (STRONG, WARM)
    assert (np.diff([cielab(channels(hue))[2] for hue in hues]) > 5).all()  # from blue to yellow, which all people see


def test_the_diverging_scale_shows_nothing_at_zero_and_is_symmetric():
    scale = diverging_scale()
    assert [step for step, _ in scale] == [i / 10 for i in range(11)]
    opacity = [float(color.rstrip(")").split(",")[-1]) for _, color in scale]
    assert opacity[5] == 0
    np.testing.assert_allclose(opacity, opacity[::-1])


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


@pytest.mark.parametrize("eyes", EYES)
def test_any_two_hues_are_told_apart(eyes: str):
    seen = [cielab(EYES[eyes] @ channels(hue)) for hue in HUES]
    assert min(np.linalg.norm(one - other) for one, other in combinations(seen, 2)) > 8
    assert min(np.linalg.norm(one - other) for one, other in combinations(seen[:5], 2)) > 12


@pytest.mark.parametrize("name", THEMES)
def test_allowed_stands_out_from_forbidden(name: str):
    colors = mask_colors()[name]
    assert contrast(colors["allowed"], colors["forbidden"]) > 2
    assert colors["forbidden"] == THEMES[name].forbidden
    assert colors["sequential"][0] == (0.0, THEMES[name].background)
    assert dict(colors["diverging"])[0.5] == THEMES[name].background
