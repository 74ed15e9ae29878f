"""The colors of masks are told apart in both themes."""

import pytest

from transformer_core.figures.mask_colors import mask_colors
from transformer_core.figures.theme import THEMES


def luminance(color: str) -> float:
    """Relative luminance, as WCAG 2 defines it."""
    encoded = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in encoded)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("name", THEMES)
def test_allowed_stands_out_from_forbidden(name: str):
    colors = mask_colors()[name]
    light, dark = sorted((luminance(colors.allowed), luminance(colors.forbidden)), reverse=True)
    assert (light + 0.05) / (dark + 0.05) > 2
    assert colors.forbidden == THEMES[name].forbidden
    assert colors.sequential[0] == (0.0, THEMES[name].background)
    assert dict(colors.diverging)[0.5] == THEMES[name].background
