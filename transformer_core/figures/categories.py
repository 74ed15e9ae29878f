"""Hues of what has no order: heads that are overlaid, clusters; the same in light and in dark."""

from transformer_core.figures.hues import FAINT, STRONG, WARM, mixed
from transformer_core.figures.theme import LIGHT, VALUE

_BROWN, _PEACH, _NAVY = LIGHT.diverging[1], LIGHT.diverging[3], LIGHT.sequential[7]

HUES = (
    STRONG,  # indigo
    WARM,  # orange
    mixed(VALUE, _NAVY, 0.25),  # teal
    mixed(STRONG, WARM, 0.5, around=True),  # magenta
    mixed(VALUE, _BROWN, 0.75),  # brown
    mixed(VALUE, _PEACH, 0.25, around=True),  # sky blue
    mixed(VALUE, _PEACH, 0.25),  # sage
    mixed(LIGHT.sequential[6], _PEACH, 0.25, around=True),  # purple
)
"""Told apart with red-blind and green-blind eyes, too; any two of the first five most easily."""

CHOSEN = HUES[3]
"""A frame on the diverging scale, which has both indigo and orange."""


def category_hues(n: int) -> list[str]:
    """Return a hue for each of some categories; from the ninth on, all are grey."""
    return [*HUES[:n], *[FAINT] * (n - len(HUES))]
