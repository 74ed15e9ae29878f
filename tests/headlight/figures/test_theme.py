"""The palette: readable in light and dark, and scales in an order that needs no color vision."""

from itertools import combinations

import numpy as np
import pytest

from headlight.figures.theme import (
    DARK,
    DEEP,
    FAINT,
    HUES,
    KEY,
    LIGHT,
    QUERY,
    STRONG,
    THEMES,
    VALUE,
    WARM,
    Theme,
    category_hues,
    diverging_scale,
    layer_hues,
    mask_colors,
    template,
)
from headlight.language import speaking

THEME = pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES.keys())


def channels(color: str) -> np.ndarray:
    """Linear red, green and blue of a color "#RRGGBB", in [0, 1]."""
    encoded = np.array([int(color[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)


def luminance(color: str) -> float:
    """Relative luminance (WCAG 2)."""
    return float(channels(color) @ [0.2126, 0.7152, 0.0722])


def contrast(one: str, other: str) -> float:
    """Contrast ratio (WCAG 2), from 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def lightness(color: str) -> float:
    """OKLab lightness, in [0, 1]."""
    to_cones = np.array(
        [
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ]
    )
    return float(np.cbrt(to_cones @ channels(color)) @ [0.2104542553, 0.7936177850, -0.0040720468])


@THEME
def test_text_is_readable_and_hues_stand_out(theme: Theme):
    for ground in (theme.background, theme.surface):
        assert contrast(theme.text, ground) >= 7
        assert contrast(theme.muted, ground) >= 4.5
        assert contrast(theme.accent, ground) >= 4.5
    assert min(contrast(hue, theme.background) for hue in (QUERY, KEY, VALUE)) >= 4


@THEME
def test_sequential_starts_at_the_background_with_even_steps(theme: Theme):
    assert theme.sequential[0] == theme.background
    steps = np.diff([lightness(color) for color in theme.sequential])
    np.testing.assert_allclose(steps, steps.mean(), rtol=0.05)


@THEME
def test_diverging_is_symmetric_around_the_background(theme: Theme):
    values = [lightness(color) for color in theme.diverging]
    middle = len(values) // 2
    assert theme.diverging[middle] == theme.background
    assert all(abs(left - right) < 0.06 for left, right in zip(values, reversed(values), strict=True))
    steps = np.diff(values[: middle + 1])
    assert (steps > 0).all() or (steps < 0).all()


@THEME
def test_numbers_are_readable_on_pale_and_on_deep_cells(theme: Theme):
    pale, deep = template(theme).data.scatter
    stops = theme.sequential
    for share, color in zip(np.linspace(0, 1, len(stops)) ** 1.3, stops, strict=True):
        ink = (deep if share >= DEEP else pale).textfont.color
        assert contrast(ink, color) >= 3


def test_the_template_is_made_once_for_each_theme_and_language():
    assert template(LIGHT) is template(LIGHT) and template(LIGHT) is not template(DARK)
    with speaking("de"):
        german = template(LIGHT)
    assert (german.layout.separators, template(LIGHT).layout.separators) == (",\u202f", ".,")


THEME = pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES.keys())


@THEME
@pytest.mark.parametrize("n_layers", [1, 2, 4, 12])
def test_every_hue_stands_out_from_both_backgrounds(theme: Theme, n_layers: int):
    for hue in (FAINT, STRONG, WARM, *HUES, *category_hues(16), *layer_hues(n_layers)):
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


@pytest.mark.parametrize(("n", "least"), [(9, 12), (12, 12), (16, 8)])
def test_more_categories_than_hues_are_told_apart_too(n: int, least: float):
    seen = [cielab(channels(hue)) for hue in category_hues(n)]
    assert min(np.linalg.norm(one - other) for one, other in combinations(seen, 2)) > least


@pytest.mark.parametrize("name", THEMES)
def test_allowed_stands_out_from_forbidden(name: str):
    colors = mask_colors()[name]
    assert contrast(colors["allowed"], colors["forbidden"]) > 2
    assert colors["forbidden"] == THEMES[name].forbidden
    assert colors["sequential"][0] == (0.0, THEMES[name].background)
    assert dict(colors["diverging"])[0.5] == THEMES[name].background
