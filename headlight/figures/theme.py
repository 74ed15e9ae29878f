"""The palette: every color of the app, for the light and the dark theme.

The accent is indigo, and so is the sequential scale: it starts at the background, so that zeros vanish, and its steps
are even in OKLab lightness, so that it is read in the same order with and without color vision. The diverging scale
runs from orange through the background to the same indigo.

Source: Ottosson 2020, "A perceptual color space for image processing" (OKLab).
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from headlight.language import separated

# The fixed hues, the same in light and in dark: at least 4:1 against both backgrounds.
QUERY = "#2C7BD6"  # blue
KEY = "#C75F12"  # orange
VALUE = "#168A66"  # green

SEQUENTIAL_EXPONENT = 1.3
DEEP = 0.5**SEQUENTIAL_EXPONENT  # from this value on, the sequential scale is nearer to its deep end

FONT = '"Source Sans", "Source Sans 3", "Source Sans Pro", "Helvetica Neue", Arial, sans-serif'


@dataclass(frozen=True, kw_only=True)
class Theme:
    """The colors of one appearance, light or dark."""

    name: str  # "light" or "dark"
    background: str  # of the page, and of zero
    surface: str  # of boxes on the page
    text: str
    muted: str  # captions, axis labels
    accent: str  # the one accent: what is chosen, what can be pressed
    border: str
    forbidden: str  # a cell that the mask does not allow: neutral, so that it cannot be read as a value
    sequential: tuple[str, ...]  # 0 to 1, in even steps of lightness
    diverging: tuple[str, ...]  # -1 to 1, in even steps on each side, the background in the middle


LIGHT = Theme(
    name="light",
    background="#FFFFFF",
    surface="#F6F7F9",
    text="#1B1F2A",
    muted="#5D6473",
    accent="#4450C4",
    border="#D9DCE3",
    forbidden="#EBEBE9",
    sequential=("#FFFFFF", "#D9DFFB", "#B5C0F3", "#92A1E7", "#7182DA", "#5362CC", "#3C46AE", "#2A3180", "#1A1D54"),
    diverging=("#4A2406", "#8C4912", "#C77B41", "#EDBB8E", "#FFFFFF", "#B5C0F3", "#7182DA", "#3C46AE", "#1A1D54"),
)

DARK = Theme(
    name="dark",
    background="#12141A",
    surface="#1B1E27",
    text="#E8EAF0",
    muted="#9AA3B2",
    accent="#8E9BFF",
    border="#343947",
    forbidden="#2C2C2E",
    sequential=("#12141A", "#20264F", "#313984", "#4852AD", "#5F6CD7", "#7B8AF5", "#9FADFA", "#C6CFFE", "#EEF0FF"),
    diverging=("#FFF1E2", "#E9A369", "#AA682B", "#613914", "#12141A", "#313984", "#5F6CD7", "#9FADFA", "#EEF0FF"),
)

THEMES = {"light": LIGHT, "dark": DARK}


def scale(colors: tuple[str, ...], *, exponent: float = 1.0) -> list[tuple[float, str]]:
    """A plotly color scale.

    Args:
        colors: perceptually evenly spaced.
        exponent: the color at fraction t stands for the value t^exponent; above 1, small values differ more.
    """
    return [((index / (len(colors) - 1)) ** exponent, color) for index, color in enumerate(colors)]


def sequential_scale(theme: Theme) -> list[tuple[float, str]]:
    """The sequential scale as the figures use it: weights of 0.05 are common, and must be seen beside one of 0.9."""
    return scale(theme.sequential, exponent=SEQUENTIAL_EXPONENT)


def template(theme: Theme) -> go.layout.Template:
    """Everything about a figure that depends on the theme, so that a figure changes its look by changing its template.

    Color axis 1 is the sequential scale; color axis 2 paints forbidden cells in one neutral color. The first scatter
    trace of a figure writes on pale ground, the second on deep ground. Thousands are set apart as in the reader's
    language. Figures copy it, and it must not be changed: plotly needs as long to make it as for the rest of a figure.
    """
    return _template(theme, "".join(separated([".", ","])))


@cache
def _template(theme: Theme, separators: str) -> go.layout.Template:
    axis = {
        "gridcolor": theme.border,
        "linecolor": theme.border,
        "tickcolor": theme.border,
        "tickfont": {"color": theme.text},
        "ticklabeloverflow": "allow",  # otherwise Plotly measures every label each time it draws
        "title": {"font": {"color": theme.muted}},
        "zeroline": False,
        "showgrid": False,
    }
    return go.layout.Template(
        data={"scatter": [{"textfont": {"size": 11, "color": color}} for color in (theme.text, theme.background)]},
        layout={
            "paper_bgcolor": theme.background,
            "plot_bgcolor": theme.background,
            "separators": separators,  # before decimals, and between thousands
            "font": {"family": FONT, "size": 13, "color": theme.text},
            "title": {"font": {"size": 15, "color": theme.text}},
            "xaxis": axis,
            "yaxis": axis,
            "coloraxis": {
                "colorscale": sequential_scale(theme),
                "colorbar": {"outlinecolor": theme.border, "tickfont": {"color": theme.muted}},
            },
            "coloraxis2": {"colorscale": scale((theme.forbidden, theme.forbidden)), "showscale": False},
            "hoverlabel": {
                "bgcolor": theme.surface,
                "bordercolor": theme.border,
                "font": {"family": FONT, "size": 13, "color": theme.text},
                "align": "left",
            },
            "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": theme.muted, "activecolor": theme.accent},
            "legend": {"font": {"color": theme.muted}},
        },
    )


# Hues of lines and marks, the same in light and in dark, made of the themes' colors: 3:1 against both backgrounds.
STRONG = DARK.sequential[4]  # the data in focus: the accent's indigo
DIVIDER = "#7a7f87"  # between two texts, or a text and what the model wrote after it
NOT_FINITE = "#b5179e"  # a cell that is NaN or infinite: a color outside all scales
WARM = LIGHT.diverging[2]  # the data to contrast with it: the orange of the diverging scale

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
    """Interpolate between two colors in OKLab.

    Args:
        one: "#RRGGBB".
        other: "#RRGGBB".
        fraction: of the way, in [0, 1].
        around: interpolate along the hue circle, through magenta, instead of straight through grey.

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
    """Return "#RRGGBB" as a translucent color."""
    red, green, blue = (int(color[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:g})"


def diverging_scale() -> list[tuple[float, str]]:
    """Return a plotly color scale from orange through transparent to indigo: zero shows either background."""
    return [(step / 10, translucent(WARM if step < 5 else STRONG, round(abs(step - 5) / 5, 2))) for step in range(11)]


def _lab(color: str) -> Float[np.ndarray, " 3"]:
    encoded = np.array([int(color[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    linear = np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)
    return _TO_LAB @ np.cbrt(_TO_CONES @ linear)


def _color(lab: Float[np.ndarray, " 3"]) -> str:
    linear = (np.linalg.inv(_TO_CONES) @ (np.linalg.inv(_TO_LAB) @ lab) ** 3).clip(0, 1)
    encoded = np.where(linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055)
    return "#" + "".join(f"{round(channel * 255):02X}" for channel in encoded.tolist())


FAINT = mixed(LIGHT.muted, DARK.muted, 0.5)  # the data in the background: a grey between the two themes' greys

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
    """Return a hue for each of n categories; for more than eight, a wheel of hues with alternating lightness."""
    if n <= len(HUES):
        return [*HUES[:n]]
    angles = [math.tau * i / n for i in range(n)]
    return [
        _color(np.array([0.52 + 0.12 * (i % 2), 0.13 * math.cos(angle), 0.13 * math.sin(angle)]))
        for i, angle in enumerate(angles)
    ]


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
"""By the names of parts in `architecture.inventory`."""

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
