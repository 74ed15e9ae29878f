"""All heads as a static figure for a paper: rows of layers, columns of heads, a small pattern for each.

All patterns are stitched into one heatmap with gaps between the heads, which a browser draws twenty times as fast as
one subplot per head.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float

from headlight.figures.elements import axis_title, figure_layout, figure_of, frame_around, hover, label_axis, note
from headlight.figures.heatmaps.cells import broken_cells, masked_cells
from headlight.figures.heatmaps.overview import thumbnail_side
from headlight.figures.labels import escape
from headlight.figures.quantities import COLORBAR
from headlight.figures.theme import DIVIDER, FAINT, WARM
from headlight.language import say

MOST_CELLS = 200_000  # all heads together: a browser draws this many within half a second

_TOP, _LEFT, _RIGHT, _BOTTOM = 72, 48, 76, 8  # px: margins, with the title, the numbers, and the bar of colors
_BAR = 180  # px: the height of the bar of colors
_NAME = 26  # px of the name of an attention above its heads
_GAPS = 12  # a gap between two heads is this fraction of a side


def fit_side(n_heads: int) -> int:
    """Return how many rows and columns each head may have; longer patterns are max-pooled.

    Args:
        n_heads: of all attentions and layers together, at least 1.
    """
    return thumbnail_side(n_heads, MOST_CELLS, most_bytes=MOST_CELLS)


def all_heads(
    patterns: Mapping[str, Float[np.ndarray, "_ _ _ _"]],
    masks: Mapping[str, Bool[np.ndarray, "_ _ _"]],
    *,
    title: str,
    chosen: tuple[str, int, int] | None = None,
    border: float | None = None,
    width: int = 720,
) -> go.Figure:
    """Draw the pattern of every head, small, with one color range.

    Args:
        patterns: attention weights in [0, 1], [layer, head, row, column], by the title of their attention: query rows
            and key columns, of long texts max-pooled to at most `fit_side` blocks.
        masks: True = may attend, [layer, row, column], by the same titles.
        title: names the quantity.
        chosen: title of the attention, layer and head of a head to frame.
        border: fraction of the rows, and of the columns, before those of a second text: each head has lines there.
        width: px that the figure is laid out for; it takes the width of its container.

    Returns:
        A figure whose axes count the cells of the stitched patterns, with layers and heads as tick text. Where patterns
        differ in size, each cell of a smaller one is drawn as a block of cells.

    Raises:
        ValueError: there is nothing to draw, masks do not fit, or `chosen` is not one of the heads.
    """
    _check(patterns, masks, chosen)
    side = max(max(mask.shape[1:]) for mask in masks.values())
    gap = max(1, side // _GAPS)
    n_heads = max(pattern.shape[1] for pattern in patterns.values())
    n_columns = n_heads * (side + gap) - gap
    pixel = (width - _LEFT - _RIGHT) / n_columns  # px per cell
    groups: list[_Group] = []
    for name, pattern in patterns.items():
        start = groups[-1].end + gap if groups else 0
        start += math.ceil(_NAME / pixel) if name else 0
        groups.append(_Group(title=name, shape=(*pattern.shape,), start=start, side=side, gap=gap))
    weights, blanks, broken = np.full((3, groups[-1].end, n_columns), np.nan, dtype=np.float32)
    for group in groups:
        pattern, mask = patterns[group.title], masks[group.title][:, None]
        group.stitch(np.where(mask, pattern, np.nan), weights)
        group.stitch(np.broadcast_to(np.where(mask, np.nan, 0), pattern.shape), blanks)
        group.stitch(np.where(mask & ~np.isfinite(pattern), 0, np.nan), broken)

    cells = {"hoverinfo": "skip", "x0": 0, "dx": 1, "y0": 0, "dy": 1}
    traces: list[Any] = [go.Heatmap(name=say("attention"), z=weights, coloraxis="coloraxis", **cells)]
    if not np.isnan(blanks).all():
        traces.insert(0, masked_cells(np.isnan(blanks), **cells))
    if not np.isnan(broken).all():
        traces.insert(0, broken_cells(broken == 0, **cells))
    traces.append(_names(groups))
    height = round(pixel * groups[-1].end) + _TOP + _BOTTOM
    edge = gap / 2 + 0.5  # from the middle of the first cell to the line around all
    layers = [(layer, _middle(group.top(layer), group.height)) for group in groups for layer in range(group.shape[0])]
    look: dict[str, Any] = {"size": 11, "ticklabelstandoff": 2}
    pitch = pixel * (side + gap), pixel * (min(group.height for group in groups) + gap)
    across = [_middle(head * (side + gap), side) for head in range(n_heads)]
    x = label_axis(across, map(str, range(n_heads)), pitch=pitch[0], title=axis_title(say("head"), standoff=2), **look)
    down, numbers = [place for _, place in layers], [str(layer) for layer, _ in layers]
    y = label_axis(down, numbers, pitch=pitch[1], title=axis_title(say("layer"), standoff=2), **look)
    bar = COLORBAR | {"lenmode": "pixels", "len": min(_BAR, height - _TOP)}
    layout = figure_layout(title, height=height, margin=(_LEFT, _RIGHT, _TOP, _BOTTOM)) | {
        "hovermode": "closest",
        "hoverdistance": -1,  # the middle of a head is the nearest point anywhere on it
        "coloraxis": {"cmin": 0, "cmax": 1, "colorbar": bar},
        "xaxis": x | {"side": "top", "range": [-edge - 0.5, n_columns - 1 + edge + 0.5]},
        "yaxis": y | {"range": [groups[-1].end - 1 + edge + 0.5, -edge - 0.5]},
        "shapes": [_path(group.lines(), FAINT, 0.5) for group in groups]
        + [_path(group.borders(border), DIVIDER, 1) for group in groups if border],
        "annotations": [],
    }
    for group in groups:
        left, top, *_ = group.box(0, 0)
        if group.title:
            text, where = f"<b>{escape(group.title)}</b>", {"xref": "x", "yref": "y", "xshift": -1}
            layout["annotations"].append(note(text, x=left, y=top, anchor=("left", "bottom"), size=13, **where))
        if chosen and group.title == chosen[0]:
            left, top, right, bottom = group.box(*chosen[1:])
            layout["shapes"].append(frame_around((left, right), (top, bottom), color=WARM, width=2.5))
    return figure_of(traces, layout)


@dataclass(frozen=True, kw_only=True)
class _Group:
    """The heads of one attention among the cells; each has a box of `side` columns."""

    title: str
    shape: tuple[int, ...]  # layers, heads, rows, columns
    start: int  # the first row
    side: int
    gap: int

    @property
    def times(self) -> tuple[int, int]:
        """Number of canvas cells per row and per column of a pattern."""
        return self.side // self.shape[2], self.side // self.shape[3]

    @property
    def height(self) -> int:
        """Rows of a head."""
        return self.shape[2] * self.times[0]

    @property
    def end(self) -> int:
        """The row after the last."""
        return self.top(self.shape[0]) - self.gap

    def top(self, layer: int) -> int:
        """Return the first row of a layer."""
        return self.start + layer * (self.height + self.gap)

    def box(self, layer: int, head: int) -> tuple[float, float, float, float]:
        """Return the edges of a head's box, in the middle of the gaps: left, top, right, bottom."""
        outer = self.gap / 2 + 0.5
        left, top = head * (self.side + self.gap), self.top(layer)
        return left - outer, top - outer, left + self.side - 1 + outer, top + self.height - 1 + outer

    def places(self) -> Iterator[tuple[int, int, int, int, int]]:
        """Yield each layer and head, its first row and column, and the number of its columns."""
        n_columns = self.shape[3] * self.times[1]
        for layer, head in np.ndindex(*self.shape[:2]):
            left = head * (self.side + self.gap) + (self.side - n_columns) // 2
            yield layer, head, self.top(layer), left, n_columns

    def stitch(self, patterns: Float[np.ndarray, "_ _ _ _"], canvas: Float[np.ndarray, "row column"]) -> None:
        """Write the cells of every head onto the canvas."""
        down, across = self.times
        cells = patterns.repeat(down, axis=2).repeat(across, axis=3)
        for layer, head, top, left, n_columns in self.places():
            canvas[top : top + self.height, left : left + n_columns] = cells[layer, head]

    def lines(self) -> list[str]:
        """Return the lines between and around the heads, as parts of a path."""
        n_layers, n_heads, *_ = self.shape
        left, top, *_ = self.box(0, 0)
        *_, right, bottom = self.box(n_layers - 1, n_heads - 1)
        down = [left, *(self.box(0, head)[2] for head in range(n_heads))]
        across = [top, *(self.box(layer, 0)[3] for layer in range(n_layers))]
        return [f"M{x} {top}V{bottom}" for x in down] + [f"M{left} {y}H{right}" for y in across]

    def borders(self, fraction: float) -> list[str]:
        """Return the lines between two texts in every head, as parts of a path."""
        parts = []
        for _, _, top, left, n_columns in self.places():
            x, y = left - 0.5 + fraction * n_columns, top - 0.5 + fraction * self.height
            parts += [f"M{x} {top - 0.5}V{top - 0.5 + self.height}", f"M{left - 0.5} {y}H{left - 0.5 + n_columns}"]
        return parts


def _check(
    patterns: Mapping[str, Float[np.ndarray, "_ _ _ _"]],
    masks: Mapping[str, Bool[np.ndarray, "_ _ _"]],
    chosen: tuple[str, int, int] | None,
) -> None:
    """Raise ValueError if patterns, masks and the chosen head do not fit together."""
    if not patterns or any(0 in pattern.shape for pattern in patterns.values()):
        raise ValueError("There is no head to draw; give the patterns of at least one attention.")
    sizes = {title: (len(pattern), *pattern.shape[2:]) for title, pattern in patterns.items()}
    if sizes != {title: mask.shape for title, mask in masks.items()}:
        raise ValueError(f"The masks do not fit the patterns, whose layers, rows and columns are {sizes}.")
    title, layer, head = chosen or (next(iter(patterns)), 0, 0)
    n_layers, n_heads = patterns[title].shape[:2] if title in patterns else (0, 0)
    if not (0 <= layer < n_layers and 0 <= head < n_heads):
        raise ValueError(f"There is no head {chosen} to frame; name one of the heads that are drawn.")


def _middle(start: int, length: int) -> float:
    return start + (length - 1) / 2


def _names(groups: Sequence[_Group]) -> go.Scatter:
    """Return invisible marks in the middle of the heads, with their names as hover texts."""
    form = say("L{layer}.H{head}")
    x, y, hover_texts = [], [], []
    for group in groups:
        for layer, head, top, *_ in group.places():
            x.append(_middle(head * (group.side + group.gap), group.side))
            y.append(_middle(top, group.height))
            before = f"{escape(group.title)} " if len(groups) > 1 else ""
            hover_texts.append(before + form.format(layer=layer, head=head))
    look: dict[str, Any] = {"mode": "markers", "marker": {"opacity": 0}, "showlegend": False}
    return go.Scatter(name="heads", x=x, y=y, **look, **hover(hover_texts))


def _path(parts: Sequence[str], color: str, width: float) -> dict[str, Any]:
    return {"type": "path", "path": "".join(parts), "line": {"color": color, "width": width}}
