"""The colors of masks: what is allowed, what is not, what was turned over by hand; scores and patterns beside them."""

from collections.abc import Mapping
from dataclasses import dataclass

from headlight.figures.hues import WARM
from headlight.figures.theme import DARK, LIGHT, Theme, scale, sequential_scale

CELL = WARM  # the cell that is pointed at, and those that were turned over by hand


@dataclass(frozen=True, kw_only=True)
class MaskColors:
    """The colors of one theme."""

    allowed: str
    forbidden: str  # neutral, as everywhere
    text: str
    muted: str
    background: str
    sequential: list[tuple[float, str]]  # of weights in [0, 1]
    diverging: list[tuple[float, str]]  # of signed numbers: 0.5 stands for 0


def mask_colors() -> Mapping[str, MaskColors]:
    """Return the colors of each theme by its name."""
    return {theme.name: _colors(theme) for theme in (LIGHT, DARK)}


def _colors(theme: Theme) -> MaskColors:
    return MaskColors(
        allowed=theme.sequential[3 if theme is LIGHT else 4],
        forbidden=theme.forbidden,
        text=theme.text,
        muted=theme.muted,
        background=theme.background,
        sequential=sequential_scale(theme),
        diverging=scale(theme.diverging),
    )
