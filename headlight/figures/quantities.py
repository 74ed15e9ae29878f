"""The quantities that a cell can show: names, color ranges and number formats."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float

from headlight.figures.theme import DEEP, diverging_scale
from headlight.language import say, separated
from transformer_core.errors import mark

QuantityName = Literal["pattern", "scores", "log", "values", "written"]
COLORBAR = {"thickness": 10, "len": 0.5, "y": 1, "yanchor": "top", "tickvals": [0, 0.5, 1]}
Limits = tuple[int | float, int | float]
"""The two ends of a range of colors."""

MINUS = "\u2212"
FLOOR = 1e-6  # smallest weight on the logarithmic scale
BELOW = mark("below 0.000001")  # the text of a smaller weight
_LOWEST = -4  # the power of ten at the pale end of the colors
_FAINT = 0.05  # fraction of the range; smaller numbers are not written into cells
DEEP_BOTH_WAYS = 0.9  # fraction of a symmetric range from which numbers take the background color


def rounded(value: int | float, decimals: int) -> str:
    """Return a number with this many decimals, or NaN, ∞ or −∞; a rounded zero has no sign."""
    return all_rounded([value], decimals)[0]


def all_rounded(values: Iterable[int | float], decimals: int) -> list[str]:
    """Return `rounded` of many numbers; the reader's language is looked up once."""
    return separated([_rounded(value, decimals) for value in values])


def _rounded(value: int | float, decimals: int) -> str:
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "∞" if value > 0 else f"{MINUS}∞"
    text = f"{value:.{decimals}f}"
    return text.replace("-", MINUS if float(text) else "")


def without_zero(number: str) -> str:
    """Return a number without the zero before its decimal separator: 0.25 is .25."""
    return re.sub(r"^(\D?)0(?=[.,])", r"\1", number)


@dataclass(frozen=True, kw_only=True)
class CellQuantity:
    """Names, colors and number format of one quantity."""

    title: str  # of a figure
    trace: str  # the name of its cells
    scale: Literal["share", "signed", "power", "length"]  # 0 to 1; around zero; powers of ten; 0 to the largest
    before: str = ""  # before a number in hover texts
    unit: str = ""  # above the bar of colors

    @property
    def color_axis(self) -> str:
        """The color axis of the cells: the theme's sequential one, or the one around zero."""
        return "coloraxis3" if self.scale == "signed" else "coloraxis"

    @property
    def number_width(self) -> int:
        """Px of a number in a cell."""
        return 24 if self.scale == "share" else 32

    def drawn(self, values: Float[np.ndarray, "*cells"]) -> Float[np.ndarray, "*cells"]:
        """Return the numbers that the colors stand for: the values, or their base-10 logarithms."""
        return np.log10(np.maximum(values, FLOOR)) if self.scale == "power" else values

    def limits(self, values: Float[np.ndarray, " cell"], largest: float | None = None) -> Limits:
        """Return the ends of the color range.

        Args:
            values: all finite values that are drawn.
            largest: the largest absolute value in the whole text, where a part is drawn; None: that of `values`.
        """
        if self.scale == "share":
            return 0, 1
        if self.scale == "power":
            return _LOWEST, 0
        top = float(np.abs(values).max(initial=0)) if largest is None else largest
        top = top or 1.0
        return (-top if self.scale == "signed" else 0, top)

    def colors(self, limits: Limits) -> dict[str, Any]:
        """Return the layout of the color axis."""
        low, high = limits
        axis: dict[str, Any] = {"cmin": low, "cmax": high}
        if self.scale == "share":
            return axis | {"colorbar": COLORBAR}
        if self.scale == "power":
            powers = list(range(round(high), round(low) - 1, -1))
            texts = separated([f"{10.0**power:g}" for power in powers])
            ticks = {"tickvals": powers, "ticktext": [*texts[:-1], f"\u2264 {texts[-1]}"]}
        else:
            values = [low, (low + high) / 2, high]
            ticks = {"tickvals": values, "ticktext": self.written(values, self.decimals(high))}
        above = {"text": f"{say(self.unit)}<br>&nbsp;", "side": "top", "font": {"size": 12}}
        title = {"title": above} if self.unit else {}
        scale = {"colorscale": diverging_scale()} if self.scale == "signed" else {}
        return axis | scale | {"colorbar": COLORBAR | ticks | title}

    def decimals(self, high: int | float) -> int:
        """Return the number of decimals in hover texts, by the upper end of the range."""
        return max(0, 2 - math.floor(math.log10(high))) if self.scale == "length" else 2

    def written(self, values: Sequence[int | float], decimals: int) -> list[str]:
        """Return numbers as text for hover texts."""
        if self.scale == "power":
            below = say(BELOW)
            texts = separated([_plain(f"{value:.2g}") for value in values])
            return [below if value <= FLOOR else text for value, text in zip(values, texts, strict=True)]
        if self.scale == "signed":
            return all_rounded(values, decimals)
        return separated([f"{value:.{decimals}f}" for value in values])

    def in_cells(
        self, values: Float[np.ndarray, " cell"], limits: Limits
    ) -> tuple[list[str], Bool[np.ndarray, " cell"]]:
        """Return the numbers in cells, "" for none, and which cells are deep."""
        low, high = limits
        listed = values.tolist()
        if self.scale == "signed":
            return all_rounded(listed, 1 if high < 100 else 0), np.abs(values) >= DEEP_BOTH_WAYS * high
        is_deep = (self.drawn(values) - low) / (high - low) >= DEEP
        if self.scale == "power":
            texts = [f"{value:.2f}" if value >= 0.095 else _plain(f"{value:.1g}") for value in listed]
            least = 10.0**low
        else:
            decimals = 2 if self.scale == "share" else max(1 if high < 100 else 0, self.decimals(high) - 1)
            texts = [f"{value:.{decimals}f}" for value in listed]
            least = _FAINT * high
        texts = [
            text.removeprefix("0") if value >= least else ""
            for text, value in zip(separated(texts), listed, strict=True)
        ]
        return texts, is_deep


def _plain(number: str) -> str:
    """Return a number without an exponent: 4.2e-05 is 0.000042."""
    return f"{float(number):.9f}".rstrip("0").rstrip(".") if "e" in number else number


QUANTITIES: dict[QuantityName, CellQuantity] = {
    "pattern": CellQuantity(title=mark("Attention pattern"), trace=mark("attention"), scale="share"),
    "scores": CellQuantity(
        title=mark("Scores before softmax"), trace=mark("scores"), scale="signed", before=mark("score ")
    ),
    "log": CellQuantity(
        title=mark("Attention pattern (log scale)"),
        trace=mark("attention"),
        scale="power",
        before=mark("weight "),
        unit=mark("weight"),
    ),
    "values": CellQuantity(
        title=mark("Value-weighted attention ‖α v‖"),
        trace=mark("value-weighted attention"),
        scale="length",
        before=mark("weight × ‖v‖ "),
        unit=mark("weight × ‖v‖"),
    ),
    "written": CellQuantity(
        title=mark("Norm-weighted attention ‖α v W_O‖"),
        trace=mark("norm-weighted attention"),
        scale="length",
        before=mark("weight × ‖v W<sub>O</sub>‖ "),
        unit=mark("weight × ‖v W<sub>O</sub>‖"),
    ),
}
"""The weights (each row sums to 1), the scaled scores before the softmax, the weights on a logarithmic scale, each
weight times the norm of its key's value vector v, and each weight times the norm of the output v W_O.

Source of the last two: Kobayashi et al. 2020, "Attention is Not Only a Weight", sec. 2.
"""
