"""The colors of masks, and of the scores and patterns beside them."""

from typing import Any

from headlight.figures.hues import WARM
from headlight.figures.theme import LIGHT, THEMES, scale, sequential_scale

CELL = WARM  # the cell under the pointer, and cells edited by hand


def mask_colors() -> dict[str, dict[str, Any]]:
    """Return the colors of each theme by name: of cells and text, and two scales for weights and signed numbers."""
    return {
        name: {
            "allowed": theme.sequential[3 if theme is LIGHT else 4],
            "forbidden": theme.forbidden,
            "text": theme.text,
            "muted": theme.muted,
            "background": theme.background,
            "sequential": sequential_scale(theme),
            "diverging": scale(theme.diverging),
        }
        for name, theme in THEMES.items()
    }
