"""The one palette: every color of the app, for light and for dark.

The accent is indigo, and so is the sequential scale: it starts at the background, so that zeros vanish, and its steps
are even in OKLab lightness, so that it is read in the same order with and without color vision. The diverging scale
runs from orange through the background to the same indigo.

Source: Ottosson 2020, "A perceptual color space for image processing" (OKLab).
"""

from dataclasses import dataclass
from functools import cache

import plotly.graph_objects as go

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
    surface: str  # of boxes that lie on the page
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
        colors: evenly spaced in what the eye sees.
        exponent: the color at fraction t stands for the value t^exponent; above 1, small values are told apart better.
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
