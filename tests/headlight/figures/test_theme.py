"""The palette: readable in light and dark, and scales in an order that needs no color vision."""

import numpy as np
import pytest

from headlight.figures.theme import DARK, DEEP, KEY, LIGHT, QUERY, THEMES, VALUE, Theme, template
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
