"""Cells of numbers: color ranges, and the numbers in cells."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float

from headlight.figures.heatmaps.cells import number_traces
from headlight.figures.hues import diverging_scale
from headlight.figures.layout import HOVER
from headlight.figures.quantities import COLORBAR, DEEP_BOTH_WAYS, Limits, rounded
from headlight.figures.theme import DEEP

_GAPS_UP_TO = 32  # rows and columns up to which there are gaps between cells


@dataclass(frozen=True, kw_only=True)
class Scale:
    """A color range from `low`, or around 0, where orange is less and indigo is more."""

    low: float
    high: float
    diverging: bool = False
    decimals: int = 2  # of a number in a cell or hover text

    @classmethod
    def of(
        cls, values: Iterable[np.ndarray], limits: Limits | None = None, *, diverging: bool = False, decimals: int = 2
    ) -> "Scale":
        """Return the scale with these limits; None: for all finite values."""
        seen = np.concatenate([part[np.isfinite(part)] for part in values])
        top = float(np.abs(seen).max(initial=0.0)) or 1.0
        low, high = limits or (-top if diverging else 0.0, top)
        return cls(low=low, high=high, diverging=diverging, decimals=decimals)

    @property
    def axis(self) -> str:
        """The color axis: the theme's sequential one, or the one around 0."""
        return "coloraxis3" if self.diverging else "coloraxis"

    def is_deep(self, values: Float[np.ndarray, "*cell"]) -> Bool[np.ndarray, "*cell"]:
        """Return the cells that are so strong that their numbers have the color of the background."""
        if self.diverging:
            return np.abs(values) >= DEEP_BOTH_WAYS * self.high
        return (values - self.low) / (self.high - self.low or 1) >= DEEP

    def layout(
        self, *, unit: str = "", decimals: int | None = None, is_shown: bool = True, **bar: Any
    ) -> dict[str, Any]:
        """Return the color axis by its name, with a bar of colors that is labelled at its ends and its middle.

        Args:
            unit: above the bar.
            decimals: of the labels; None: those of the scale.
            is_shown: whether there is a bar.
            bar: other parts of the bar.
        """
        ticks = [self.low, (self.low + self.high) / 2, self.high]
        texts = [rounded(tick, self.decimals if decimals is None else decimals) for tick in ticks]
        above = {"title": {"text": f"{unit}<br>&nbsp;", "side": "top", "font": {"size": 12}}} if unit else {}
        colors = {"colorscale": diverging_scale()} if self.diverging else {}
        shown = COLORBAR | {"tickvals": ticks, "ticktext": texts} | above | bar
        axis = {"cmin": self.low, "cmax": self.high, "colorbar": shown} | colors
        return {self.axis: axis if is_shown else axis | {"showscale": False}}


def number_heatmap(
    values: Float[np.ndarray, "row column"], hover_texts: list[list[str]] | None, *, name: str, axis: str, **rest: Any
) -> go.Heatmap:
    """Return the cells of a matrix; those that are not finite are blank.

    Args:
        values: one number per cell.
        hover_texts: of each cell; None: `rest` has them.
        name: of the trace.
        axis: the color axis.
        rest: other parts of the trace.
    """
    gap = 1 if max(values.shape) <= _GAPS_UP_TO else 0
    shown: dict[str, Any] = {"hovertemplate": HOVER, "hoverongaps": True}
    if hover_texts is not None:
        shown["customdata"] = np.array(hover_texts, dtype=object)
    z = np.where(np.isfinite(values), values, np.nan).astype(np.float32)
    return go.Heatmap(**{"name": name, "z": z, "coloraxis": axis, "xgap": gap, "ygap": gap} | shown | rest)


def numbers_in_cells(
    values: Float[np.ndarray, "row column"],
    scale: Scale,
    axes: Mapping[str, str] | None = None,
    *,
    write: Callable[[float], str] | None = None,
) -> list[go.Scatter]:
    """Return the finite numbers as texts in their cells.

    Args:
        values: of all cells.
        scale: of their colors.
        axes: `xaxis` and `yaxis`, where they are not the figure's first.
        write: returns the text of a number; None: it is rounded to the scale's decimals.
    """
    rows, columns = np.nonzero(np.isfinite(values))
    seen = values[rows, columns]
    texts = [write(value) if write else rounded(value, scale.decimals) for value in seen.tolist()]
    return number_traces(columns, rows, texts, scale.is_deep(seen), **(axes or {}))
