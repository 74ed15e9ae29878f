"""One number for each head: rows of layers, columns of heads, and a scale that all of them share."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float

from transformer_core.figures.categories import CHOSEN
from transformer_core.figures.heatmaps.cells import NUMBERS_UP_TO, number_traces
from transformer_core.figures.hues import WARM, diverging_scale
from transformer_core.figures.labels import LINE, escape, heading
from transformer_core.figures.quantities import COLORBAR, Limits, rounded
from transformer_core.figures.theme import DEEP, LIGHT, Theme, template
from transformer_core.language import say

Groups = Mapping[str, Float[np.ndarray, "_ _"]]
"""By the title of an attention: [layer, head]."""

_ROW = 26  # px that a layer needs
_TICKS, _NAME, _GAP = 34, 22, 16  # px: the numbers of the heads, a group's title, and what parts two groups
_TOP, _LEFT, _RIGHT, _BOTTOM = 34, 48, 76, 8  # px: margins, with the title and the bar of colors
_NUMBER = 30  # px that a number in a cell takes
_DEEP_BOTH_WAYS = 0.9  # from this share of a range around zero on, a cell is written on in the background's color


class Box(NamedTuple):
    """Where a group's cells lie, in fractions of the figure without its margins."""

    across: tuple[float, float]
    down: tuple[float, float]  # from the bottom


def head_grid(
    values: Float[np.ndarray, "layer head"] | Groups,
    *,
    title: str,
    what: str = "",
    unit: str = "",
    limits: Limits | None = None,
    diverging: bool = False,
    decimals: int = 2,
    chosen: tuple[int, int] | tuple[str, int, int] | None = None,
    arranged: Literal["below", "beside"] = "below",
    theme: Theme = LIGHT,
    width: int = 480,
    height: int | None = None,
) -> go.Figure:
    """Draw a cell for each head.

    Args:
        values: one number a head, NaN where it was not measured; of several attentions, by their titles.
        title: names the quantity.
        what: what a number is, before it in the hover text.
        unit: stands after a number in the hover text, and above the bar of colors.
        limits: the ends of the range of colors; None: from 0 to the largest size, or as far below 0 as above it.
        diverging: whether the values are around 0: orange is less, indigo is more.
        decimals: of a number in words.
        chosen: layer and head of a head to frame; of several attentions, the title of one before them.
        arranged: whether several attentions stand below or beside each other.
        theme: light or dark.
        width: px that the figure is laid out for; it takes the width that it is given.
        height: px; None: what the layers need.

    Returns:
        A figure over integer positions, layers from top to bottom; all attentions have the same scale.

    Raises:
        ValueError: there is no attention, or `chosen` is none of the heads.
    """
    groups: Groups = values if isinstance(values, Mapping) else {"": values}
    if not groups:
        raise ValueError("There is no attention to draw; give one array [layer, head] at least.")
    place = None if chosen is None else _place(groups, chosen)
    range_ = limits or _limits(groups, diverging=diverging)
    is_beside = arranged == "beside"
    header = _TICKS + (_NAME if any(groups) else 0)
    needed = [header + _ROW * len(of_heads) for of_heads in groups.values()]
    room = (max(needed) if is_beside else sum(needed) + _GAP * (len(needed) - 1)) if height is None else 0
    height = height or room + _TOP + _BOTTOM
    inner = width - _LEFT - _RIGHT, height - _TOP - _BOTTOM
    boxes = _beside(groups, header, inner) if is_beside else _below(groups, header, inner[1])

    axis = "coloraxis3" if diverging else "coloraxis"
    traces: list[Any] = []
    layout: dict[str, Any] = {
        "template": template(theme),
        "title": heading(title),
        "height": height,
        "margin": {"l": _LEFT, "r": _RIGHT, "t": _TOP, "b": _BOTTOM},
        "annotations": [],
        "shapes": [],
        axis: _colors(range_, unit, decimals, diverging=diverging),
    }
    pitches = []
    for i, ((name, of_heads), box) in enumerate(zip(groups.items(), boxes, strict=True)):
        n_layers, n_heads = of_heads.shape
        number = str(i + 1) if i else ""
        refs = {"xaxis": f"x{number}", "yaxis": f"y{number}"}
        pitches.append(inner[0] * (box.across[1] - box.across[0]) / max(n_heads, 1))
        row = inner[1] * (box.down[1] - box.down[0]) / max(n_layers, 1)
        traces.append(_cells(of_heads, name, what, unit, decimals, axis, refs))
        if n_heads <= NUMBERS_UP_TO and row >= LINE:
            traces += _numbers(of_heads, range_, decimals, diverging=diverging, refs=refs)
        layout[f"xaxis{number}"] = {
            **_axis(say("head"), n_heads, pitches[-1]),
            **{"domain": box.across, "anchor": refs["yaxis"], "side": "top", "range": [-0.5, n_heads - 0.5]},
        }
        layout[f"yaxis{number}"] = {
            **_axis(say("layer"), n_layers, row),
            **{"domain": box.down, "anchor": refs["xaxis"], "range": [n_layers - 0.5, -0.5]},
        }
        if name:
            at = {"x": box.across[0], "y": box.down[1], "yshift": _TICKS}
            layout["annotations"].append(_GROUP_NAME | at | {"text": f"<b>{escape(name)}</b>"})
        if place is not None and place[0] == name:
            layout["shapes"].append(_framed(*place[1:], refs, CHOSEN if diverging else WARM))
    layout["meta"] = {"textFromWidth": round(_LEFT + _RIGHT + inner[0] * _NUMBER / max(min(pitches), 1))}
    return go.Figure(data=traces, layout=layout)


_GROUP_NAME = {"xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "bottom", "showarrow": False} | {
    "font": {"size": 13}
}


def _place(groups: Groups, chosen: tuple[int, int] | tuple[str, int, int]) -> tuple[str, int, int]:
    """Return the group, the layer and the head of the chosen head."""
    name, layer, head = chosen if len(chosen) == 3 else (next(iter(groups)), *chosen)
    n_layers, n_heads = groups[name].shape if name in groups else (0, 0)
    if not (0 <= layer < n_layers and 0 <= head < n_heads):
        raise ValueError(f"There is no head {chosen} to frame; name one of the heads that are drawn.")
    return name, layer, head


def _limits(groups: Groups, *, diverging: bool) -> Limits:
    """Return the range of colors that has room for all numbers."""
    sizes = np.abs(np.concatenate([of_heads.ravel() for of_heads in groups.values()]))
    top = float(np.nanmax(sizes, initial=0.0)) or 1.0
    return (-top if diverging else 0.0), top


def _below(groups: Groups, header: int, height: int) -> list[Box]:
    """Return where the groups lie, from top to bottom; a layer has the same height in all of them."""
    n_layers = [len(of_heads) for of_heads in groups.values()]
    row = (height - len(n_layers) * header - (len(n_layers) - 1) * _GAP) / max(sum(n_layers), 1)
    boxes, top = [], float(height)
    for n in n_layers:
        bottom = top - header - n * row
        boxes.append(Box((0.0, 1.0), (max(bottom, 0.0) / height, (top - header) / height)))
        top = bottom - _GAP
    return boxes


def _beside(groups: Groups, header: int, inner: tuple[int, int]) -> list[Box]:
    """Return where the groups lie, from left to right; a head has the same width in all of them."""
    width, height = inner
    n_heads = [of_heads.shape[1] for of_heads in groups.values()]
    column = (width - (len(n_heads) - 1) * _LEFT) / max(sum(n_heads), 1)
    boxes, left = [], 0.0
    for of_heads, n in zip(groups.values(), n_heads, strict=True):
        tallest = max(len(others) for others in groups.values())
        top = (height - header) / height
        across = left / width, min((left + n * column) / width, 1.0)
        boxes.append(Box(across, (top * (1 - len(of_heads) / tallest), top)))
        left += n * column + _LEFT
    return boxes


def _cells(
    values: Float[np.ndarray, "layer head"],
    name: str,
    what: str,
    unit: str,
    decimals: int,
    color_axis: str,
    refs: dict[str, str],
) -> go.Heatmap:
    """Return the cells of one group, with their words."""
    where, before, behind = (f"{escape(name)}, " if name else ""), (f"{what} " if what else ""), f" {unit}".rstrip()
    place, unmeasured = say("layer {layer}, head {head}: "), say("not measured")
    told = [
        [
            where
            + place.format(layer=layer, head=head)
            + (unmeasured if np.isnan(value) else escape(f"{before}{rounded(value, decimals)}{behind}"))
            for head, value in enumerate(row)
        ]
        for layer, row in enumerate(values.tolist())
    ]
    return go.Heatmap(
        name=escape(name),
        z=values.astype(np.float32),
        coloraxis=color_axis,
        xgap=1,
        ygap=1,
        customdata=np.array(told, dtype=object),
        hovertemplate="%{customdata}<extra></extra>",
        hoverongaps=True,
        **refs,
    )


def _numbers(
    values: Float[np.ndarray, "layer head"],
    limits: Limits,
    decimals: int,
    *,
    diverging: bool,
    refs: dict[str, str],
) -> list[go.Scatter]:
    """Return the numbers in the cells of one group."""
    layers, heads = np.nonzero(~np.isnan(values))
    measured = values[layers, heads]
    low, high = limits
    texts = [rounded(value, decimals).replace("0.", ".", 1 if abs(value) < 1 else 0) for value in measured.tolist()]
    is_deep: Bool[np.ndarray, " cell"] = (
        np.abs(measured) >= _DEEP_BOTH_WAYS * high if diverging else (measured - low) / (high - low) >= DEEP
    )
    return number_traces(heads, layers, texts, is_deep, **refs)


def _axis(kind: str, n: int, pitch: int | float) -> dict[str, Any]:
    """Return an axis of layers or heads, thinned out where `pitch`, px from one to the next, is too small."""
    step = max(1, -(-LINE // max(int(pitch), 1)))
    positions = list(range(0, n, step))
    return {
        "title": {"text": kind, "font": {"size": 12}, "standoff": 2},
        "tickmode": "array",
        "tickvals": positions,
        "ticktext": [str(position) for position in positions],
        "tickfont": {"size": 11},
        "ticks": "",
        "ticklabelstandoff": 2,
    }


def _colors(limits: Limits, unit: str, decimals: int, *, diverging: bool) -> dict[str, Any]:
    """Return the layout of the color axis that all groups share."""
    low, high = limits
    values = [low, (low + high) / 2, high]
    above = {"text": f"{escape(unit)}<br>&nbsp;", "side": "top", "font": {"size": 12}}
    bar = COLORBAR | {"len": 1, "tickvals": values, "ticktext": [rounded(value, decimals) for value in values]}
    scale = {"colorscale": diverging_scale()} if diverging else {}
    return {"cmin": low, "cmax": high, "colorbar": bar | ({"title": above} if unit else {})} | scale


def _framed(layer: int, head: int, refs: dict[str, str], hue: str) -> dict[str, Any]:
    """Return the frame of the chosen head."""
    ends = {"x0": head - 0.5, "x1": head + 0.5, "y0": layer - 0.5, "y1": layer + 0.5}
    line = {"color": hue, "width": 2.5}
    return {"type": "rect", "xref": refs["xaxis"], "yref": refs["yaxis"], "line": line} | ends
