"""Hues that are the same in light and in dark: each is seen on both backgrounds, and their order is seen, too."""

import numpy as np
import pytest

from tests.figures.test_theme import channels, contrast, lightness
from transformer_core.figures.hues import FAINT, STRONG, WARM, diverging_scale, layer_hues, mixed, translucent
from transformer_core.figures.theme import THEMES, Theme

THEME = pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES.keys())


def blue_yellow(color: str) -> float:
    """The axis of CIELAB that people see who do not tell red from green; from sRGB by the D65 matrix."""
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    _, y, z = to_xyz @ channels(color) / [0.9505, 1, 1.089]
    return float(200 * (np.cbrt(y) - np.cbrt(z)))


@THEME
@pytest.mark.parametrize("n_layers", [1, 2, 4, 12])
def test_every_hue_stands_out_from_both_backgrounds(theme: Theme, n_layers: int):
    for hue in (FAINT, STRONG, WARM, *layer_hues(n_layers)):
        assert contrast(hue, theme.background) >= 3


def test_layers_go_from_indigo_to_orange_in_an_order_that_needs_no_red_and_green():
    hues = layer_hues(6)
    assert (hues[0], hues[-1]) == (STRONG, WARM)
    steps = np.diff([blue_yellow(hue) for hue in hues])
    assert (steps > 5).all()
    assert len(set(layer_hues(24))) == 24
    assert layer_hues(1) == [STRONG]


@pytest.mark.parametrize("around", [False, True])
def test_a_mixture_begins_at_one_color_and_ends_at_the_other(around: bool):
    one, other = "#5F6CD7", "#C77B41"
    assert mixed(one, other, 0.0, around=around) == one
    assert mixed(one, other, 1.0, around=around) == other


def test_straight_through_the_middle_lies_the_mean_lightness():
    assert lightness(mixed("#000000", "#FFFFFF", 0.5)) == pytest.approx(0.5, abs=0.01)


def test_a_translucent_color_keeps_its_channels():
    assert translucent("#5F6CD7", 0.4) == "rgba(95,108,215,0.4)"


def test_the_diverging_scale_shows_nothing_at_zero_and_is_symmetric():
    scale = diverging_scale()
    assert [step for step, _ in scale] == [i / 10 for i in range(11)]
    opacity = [float(color.rstrip(")").split(",")[-1]) for _, color in scale]
    assert opacity[5] == 0
    np.testing.assert_allclose(opacity, opacity[::-1])
    assert (scale[0][1], scale[-1][1]) == (translucent(WARM, 1.0), translucent(STRONG, 1.0))
