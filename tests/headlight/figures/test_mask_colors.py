"""The colors of masks can be distinguished in both themes."""

import pytest

from headlight.figures.mask_colors import mask_colors
from headlight.figures.theme import THEMES
from tests.headlight.figures.test_theme import contrast


@pytest.mark.parametrize("name", THEMES)
def test_allowed_stands_out_from_forbidden(name: str):
    colors = mask_colors()[name]
    assert contrast(colors["allowed"], colors["forbidden"]) > 2
    assert colors["forbidden"] == THEMES[name].forbidden
    assert colors["sequential"][0] == (0.0, THEMES[name].background)
    assert dict(colors["diverging"])[0.5] == THEMES[name].background
