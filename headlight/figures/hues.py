"""Hues of lines and marks that are the same in light and in dark: a figure's look is in its template alone.

All are made of the theme's colors, and each stands out from both backgrounds by 3:1 at least.
"""

import math
from typing import Any

import numpy as np
from jaxtyping import Float

from headlight.figures.theme import DARK, LIGHT, THEMES, VALUE, scale, sequential_scale

STRONG = DARK.sequential[4]  # what is meant: the accent's indigo
DIVIDER = "#7a7f87"  # between two texts, or a text and what the model wrote after it
NOT_FINITE = "#b5179e"  # a cell that is NaN or infinite: a color of no scale
WARM = LIGHT.diverging[2]  # what is set against it: the orange of the diverging scale

_TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def mixed(one: str, other: str, fraction: float, *, around: bool = False) -> str:
    """Return a color on the way from one to another, in OKLab.

    Args:
        one: "#RRGGBB".
        other: "#RRGGBB".
        fraction: of the way, in [0, 1].
        around: go round the circle of hues, through magenta, and not straight through grey.

    Source: Ottosson 2020, "A perceptual color space for image processing" (OKLab).
    """
    start, end = _lab(one), _lab(other)
    if not around:
        return _color(start + (end - start) * fraction)
    polar = [(math.hypot(a, b), math.atan2(b, a) % math.tau) for _, a, b in (start, end)]
    (chroma, hue), (end_chroma, end_hue) = polar
    hue += ((end_hue - hue) % math.tau) * fraction  # hues rise from blue through magenta and red to orange
    chroma += (end_chroma - chroma) * fraction
    lightness = start[0] + (end[0] - start[0]) * fraction
    return _color(np.array([lightness, chroma * math.cos(hue), chroma * math.sin(hue)]))


def layer_hues(n_layers: int) -> list[str]:
    """Return a hue for each layer, from indigo for the first to orange for the last; told apart by blue and yellow."""
    return [mixed(STRONG, WARM, layer / max(n_layers - 1, 1), around=True) for layer in range(n_layers)]


def translucent(color: str, opacity: float) -> str:
    """Return "#RRGGBB" as a color through which the background is seen."""
    red, green, blue = (int(color[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:g})"


def diverging_scale() -> list[tuple[float, str]]:
    """Return a plotly color scale from orange through nothing to indigo: zero is the background, whichever it is."""
    return [(step / 10, translucent(WARM if step < 5 else STRONG, round(abs(step - 5) / 5, 2))) for step in range(11)]


def _lab(color: str) -> Float[np.ndarray, " 3"]:
    encoded = np.array([int(color[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    linear = np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)
    return _TO_LAB @ np.cbrt(_TO_CONES @ linear)


def _color(lab: Float[np.ndarray, " 3"]) -> str:
    linear = (np.linalg.inv(_TO_CONES) @ (np.linalg.inv(_TO_LAB) @ lab) ** 3).clip(0, 1)
    encoded = np.where(linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055)
    return "#" + "".join(f"{round(channel * 255):02X}" for channel in encoded.tolist())


FAINT = mixed(LIGHT.muted, DARK.muted, 0.5)  # what stays in the back: a grey between the two themes' greys

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


PART_HUES = {
    "token embedding": HUES[3],
    "segment embedding": HUES[6],
    "positions": HUES[4],
    "self-attention": HUES[0],
    "cross-attention": HUES[7],
    "feed-forward": HUES[2],
    "normalization": FAINT,
    "last layer": HUES[5],
}
"""By the names of parts in `analysis.inventory`."""

COST_HUES = {
    "projections": HUES[0],
    "attention": HUES[3],
    "feed_forward": HUES[2],
    "unembedding": HUES[5],
}
"""By the names of costs in `blueprint.cost`."""


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
