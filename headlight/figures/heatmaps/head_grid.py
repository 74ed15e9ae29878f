"""One number per head: rows of layers, columns of heads, one scale."""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from headlight.figures import elements
from headlight.figures.heatmaps.cells import NUMBERS_UP_TO
from headlight.figures.heatmaps.number_panels import Scale, cell_texts, number_cells
from headlight.figures.labels import LINE, escape
from headlight.figures.quantities import Limits, rounded, without_zero
from headlight.figures.theme import CHOSEN, WARM
from headlight.language import say

Groups = Mapping[str, Float[np.ndarray, "_ _"]]
"""By the title of an attention: [layer, head]."""

_DECIMALS = 2  # of a number in a hover text
_ROW = 26  # px per layer
_TICKS, _NAME, _GAP = 34, 22, 16  # px: the numbers of the heads, a group's title, and the gap between two groups
_TOP, _LEFT, _RIGHT, _BOTTOM = 34, 48, 76, 8  # px: margins, with the title and the bar of colors
_NUMBER = 30  # px that a number in a cell takes


Box = tuple[tuple[float, float], tuple[float, float]]
"""Left and right, bottom and top end of a group's cells, as fractions of the figure without its margins."""


def head_grid(
    values: Float[np.ndarray, "layer head"] | Groups,
    *,
    title: str,
    what: str = "",
    unit: str = "",
    limits: Limits | None = None,
    diverging: bool = False,
    chosen: tuple[int, int] | tuple[str, int, int] | None = None,
    arranged: Literal["below", "beside"] = "below",
    width: int = 480,
    height: int | None = None,
) -> go.Figure:
    """Draw a cell for each head.

    Args:
        values: one number per head, NaN where not measured; of several attentions, by their titles.
        title: names the quantity.
        what: before a number in the hover text.
        unit: after a number in the hover text, and above the bar of colors.
        limits: ends of the color range; None: from 0 to the largest number, or symmetric around 0.
        diverging: whether the values are centered around 0: orange is less, indigo is more.
        chosen: layer and head to frame; of several attentions, after the title of one.
        arranged: how several attentions are arranged: below or beside each other.
        width: px that the figure is laid out for; it takes the width of its container.
        height: px; None: what the layers need.

    Returns:
        A figure over integer positions, layers from top to bottom; all attentions share one scale.

    Raises:
        ValueError: there is no attention, or `chosen` is not one of the heads.
    """
    groups: Groups = values if isinstance(values, Mapping) else {"": values}
    if not groups:
        raise ValueError("There is no attention to draw; give one array [layer, head] at least.")
    place = None if chosen is None else _place(groups, chosen)
    scale = Scale.of(groups.values(), limits, diverging=diverging, decimals=_DECIMALS)
    is_beside = arranged == "beside"
    header = _TICKS + (_NAME if any(groups) else 0)
    needed = [header + _ROW * len(of_heads) for of_heads in groups.values()]
    room = (max(needed) if is_beside else sum(needed) + _GAP * (len(needed) - 1)) if height is None else 0
    height = height or room + _TOP + _BOTTOM
    inner = width - _LEFT - _RIGHT, height - _TOP - _BOTTOM
    boxes = _beside(groups, header, inner) if is_beside else _below(groups, header, inner[1])

    traces: list[Any] = []
    layout = elements.figure_layout(title, height=height, margin=(_LEFT, _RIGHT, _TOP, _BOTTOM))
    layout |= {"annotations": [], "shapes": []} | scale.layout(unit=escape(unit), len=1)
    pitches = []
    for i, ((name, of_heads), (across, down)) in enumerate(zip(groups.items(), boxes, strict=True)):
        n_layers, n_heads = of_heads.shape
        pitches.append(inner[0] * (across[1] - across[0]) / max(n_heads, 1))
        row = inner[1] * (down[1] - down[0]) / max(n_layers, 1)
        x = elements.cell_axis(n_heads, **_axis(say("head"), n_heads, pitches[-1]))
        y = elements.cell_axis(n_layers, is_down=True, **_axis(say("layer"), n_layers, row))
        refs = elements.add_panel(layout, i, x, y, across=across, down=down)
        traces += number_cells(
            of_heads,
            scale,
            _words(of_heads, name, what, unit),
            name=escape(name),
            write=lambda value: without_zero(rounded(value, _DECIMALS)),
            is_written=n_heads <= NUMBERS_UP_TO and row >= LINE,
            gap=1,
            axes=refs,
        )
        if name:
            at = {"x": across[0], "y": down[1], "yshift": _TICKS}
            layout["annotations"].append(
                elements.note(f"<b>{escape(name)}</b>", anchor=("left", "bottom"), size=13, **at)
            )
        if place is not None and place[0] == name:
            layout["shapes"].append(elements.cell_frame(*place[1:], color=CHOSEN if diverging else WARM, axes=refs))
    layout["meta"] = {"textFromWidth": round(_LEFT + _RIGHT + inner[0] * _NUMBER / max(min(pitches), 1))}
    return elements.figure_of(traces, layout)


def _place(groups: Groups, chosen: tuple[int, int] | tuple[str, int, int]) -> tuple[str, int, int]:
    name, layer, head = chosen if len(chosen) == 3 else (next(iter(groups)), *chosen)
    n_layers, n_heads = groups[name].shape if name in groups else (0, 0)
    if not (0 <= layer < n_layers and 0 <= head < n_heads):
        raise ValueError(f"There is no head {chosen} to frame; name one of the heads that are drawn.")
    return name, layer, head


def _below(groups: Groups, header: int, height: int) -> list[Box]:
    """Return the boxes of the groups, from top to bottom; all layers have the same height."""
    n_layers = [len(of_heads) for of_heads in groups.values()]
    row = (height - len(n_layers) * header - (len(n_layers) - 1) * _GAP) / max(sum(n_layers), 1)
    boxes, top = [], float(height)
    for n in n_layers:
        bottom = top - header - n * row
        boxes.append(((0.0, 1.0), (max(bottom, 0.0) / height, (top - header) / height)))
        top = bottom - _GAP
    return boxes


def _beside(groups: Groups, header: int, inner: tuple[int, int]) -> list[Box]:
    """Return the boxes of the groups, from left to right; all heads have the same width."""
    width, height = inner
    n_heads = [of_heads.shape[1] for of_heads in groups.values()]
    column = (width - (len(n_heads) - 1) * _LEFT) / max(sum(n_heads), 1)
    boxes, left = [], 0.0
    for of_heads, n in zip(groups.values(), n_heads, strict=True):
        tallest = max(len(others) for others in groups.values())
        top = (height - header) / height
        boxes.append(((left / width, (left + n * column) / width), (top * (1 - len(of_heads) / tallest), top)))
        left += n * column + _LEFT
    return boxes


def _words(values: Float[np.ndarray, "layer head"], name: str, what: str, unit: str) -> list[list[str]]:
    where, before, after = (f"{escape(name)} " if name else ""), (f"{what} " if what else ""), f" {unit}".rstrip()
    place, unmeasured = say("L{layer}.H{head}: "), say("not measured")

    def write(layer: int, head: int, value: float) -> str:
        number = unmeasured if np.isnan(value) else escape(f"{before}{rounded(value, _DECIMALS)}{after}")
        return where + place.format(layer=layer, head=head) + number

    n_layers, n_heads = values.shape
    return cell_texts(values, range(n_layers), range(n_heads), write)


def _axis(kind: str, n: int, pitch: float) -> dict[str, Any]:
    title = elements.axis_title(kind, standoff=2)
    return elements.label_axis(range(n), map(str, range(n)), size=11, pitch=pitch, title=title, ticklabelstandoff=2)
