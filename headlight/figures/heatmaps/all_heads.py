"""All heads at a glance, as a still figure for a paper: rows of layers, columns of heads, a small pattern for each.

All patterns are stitched into one heatmap, with gaps between the heads: a browser draws that twenty times as fast as a
subplot a head, and it is saved like any other heatmap.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float

from headlight.figures.heatmaps.cells import FORBIDDEN, broken_cells
from headlight.figures.heatmaps.overview import thumbnail_side
from headlight.figures.hues import DIVIDER, FAINT, WARM
from headlight.figures.labels import LINE, escape
from headlight.figures.layout import axis_title, figure_layout, figure_of, frame_around, hover, label_axis, note
from headlight.figures.quantities import COLORBAR
from transformer_core.language import say

MOST_CELLS = 200_000  # of all heads, that a browser draws within half a second

_TOP, _LEFT, _RIGHT, _BOTTOM = 72, 48, 76, 8  # px: margins, with the title, the numbers, and the bar of colors
_BAR = 180  # px: the height of the bar of colors
_NAME = 26  # px that the name of an attention takes above its heads
_GAPS = 12  # of a head's side, that parts it from the next: one


def fit_side(n_heads: int) -> int:
    """Return how many rows and columns each head may have; of more, only the largest of each block is drawn.

    Args:
        n_heads: of all attentions and layers together.

    Raises:
        ValueError: there are none.
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
    """Draw the pattern of every head, small, in one range of colors.

    Args:
        patterns: attention weights in [0, 1], [layer, head, row, column], by the title of their attention: query rows
            and key columns, of long texts pooled to blocks of at most `fit_side`.
        masks: True = may attend, [layer, row, column], by the same titles.
        title: names the quantity.
        chosen: the attention's title, the layer and the head of a head to frame.
        border: the share of the rows, and of the columns, before those of a second text: each head has lines there.
        width: px that the figure is laid out for; it takes the width that it is given.

    Returns:
        A figure whose axes count the cells of the stitched patterns, with layers and heads as tick text. Of patterns
        of several sizes, the cells of smaller ones are drawn as several, as many as there is room for.

    Raises:
        ValueError: there is nothing to draw, masks do not fit, or `chosen` is none of the heads.
    """
    _check(patterns, masks, chosen)
    side = max(max(mask.shape[1:]) for mask in masks.values())
    gap = max(1, side // _GAPS)
    n_heads = max(pattern.shape[1] for pattern in patterns.values())
    n_columns = n_heads * (side + gap) - gap
    pixel = (width - _LEFT - _RIGHT) / n_columns  # px that a cell takes
    groups = [*_below_each_other(patterns, side=side, gap=gap, name=math.ceil(_NAME / pixel))]
    n_rows = groups[-1].end
    weights, blanks, broken = np.full((3, n_rows, n_columns), np.nan, dtype=np.float32)
    for group in groups:
        mask = masks[group.title][:, None]
        group.stitch(np.where(mask, patterns[group.title], np.nan), weights)
        group.stitch(np.broadcast_to(np.where(mask, np.nan, 0), patterns[group.title].shape), blanks)
        group.stitch(np.where(mask & ~np.isfinite(patterns[group.title]), 0, np.nan), broken)

    cells = {"hoverinfo": "skip", "x0": 0, "dx": 1, "y0": 0, "dy": 1}
    traces: list[Any] = [go.Heatmap(name=say("attention"), z=weights, coloraxis="coloraxis", **cells)]
    if not np.isnan(blanks).all():
        traces.insert(0, go.Heatmap(name=say(FORBIDDEN), z=blanks, coloraxis="coloraxis2", **cells))
    if not np.isnan(broken).all():
        traces.insert(0, broken_cells(broken == 0, **cells))
    traces.append(_words(groups))
    height = round(pixel * n_rows) + _TOP + _BOTTOM
    edge = gap / 2 + 0.5  # from the middle of the first cell to the line around all
    heads = [(str(head), _middle(head * (side + gap), side)) for head in range(n_heads)]
    layers = [(str(layer), _middle(group.top(layer), group.height)) for group in groups for layer in group.layers]
    layout = figure_layout(title, height=height, margin=(_LEFT, _RIGHT, _TOP, _BOTTOM)) | {
        "hovermode": "closest",
        "hoverdistance": -1,  # anywhere on a head, its middle is the nearest
        "coloraxis": {
            "cmin": 0,
            "cmax": 1,
            "colorbar": COLORBAR | {"lenmode": "pixels", "len": min(_BAR, height - _TOP)},
        },
        "xaxis": _axis(say("head"), heads, pixel * (side + gap))
        | {"side": "top", "range": [-edge - 0.5, n_columns - 1 + edge + 0.5]},
        "yaxis": _axis(say("layer"), layers, pixel * (min(group.height for group in groups) + gap))
        | {"range": [n_rows - 1 + edge + 0.5, -edge - 0.5]},
        "shapes": [_lines(group) for group in groups]
        + ([_borders(group, border) for group in groups] if border else [])
        + ([_frame(groups, *chosen)] if chosen else []),
        "annotations": [_name(group) for group in groups if group.title],
    }
    return figure_of(traces, layout)


@dataclass(frozen=True, kw_only=True)
class _Group:
    """Where the heads of an attention lie among the cells; each has a place of `side` columns."""

    title: str
    shape: tuple[int, int, int, int]  # layers, heads, rows, columns
    start: int  # the first row
    side: int
    gap: int

    @property
    def times(self) -> tuple[int, int]:
        """As how many cells each row and each column is drawn."""
        return self.side // self.shape[2], self.side // self.shape[3]

    @property
    def height(self) -> int:
        """Rows of a head."""
        return self.shape[2] * self.times[0]

    @property
    def layers(self) -> range:
        return range(self.shape[0])

    @property
    def heads(self) -> range:
        return range(self.shape[1])

    @property
    def end(self) -> int:
        """The row after the last."""
        return self.top(self.shape[0]) - self.gap

    def top(self, layer: int) -> int:
        """Return the first row of a layer."""
        return self.start + layer * (self.height + self.gap)

    def box(self, layer: int, head: int) -> tuple[float, float, float, float]:
        """Return the edges of a head's place, in the middle of the gaps: left, top, right, bottom."""
        outer = self.gap / 2 + 0.5
        left, top = head * (self.side + self.gap), self.top(layer)
        return left - outer, top - outer, left + self.side - 1 + outer, top + self.height - 1 + outer

    def stitch(self, patterns: Float[np.ndarray, "_ _ _ _"], canvas: Float[np.ndarray, "row column"]) -> None:
        """Write every head's cells where they belong."""
        down, across = self.times
        cells = patterns.repeat(down, axis=2).repeat(across, axis=3)
        n_columns = cells.shape[3]
        for layer, head in np.ndindex(*self.shape[:2]):
            top, left = self.top(layer), head * (self.side + self.gap) + (self.side - n_columns) // 2
            canvas[top : top + self.height, left : left + n_columns] = cells[layer, head]


def _below_each_other(
    patterns: Mapping[str, Float[np.ndarray, "_ _ _ _"]], *, side: int, gap: int, name: int
) -> Iterator[_Group]:
    """Yield where each attention lies, with room for its name above it, in rows."""
    start = 0
    for title, pattern in patterns.items():
        n_layers, n_heads, n_rows, n_columns = pattern.shape
        shape = (n_layers, n_heads, n_rows, n_columns)
        start += (name if title else 0) + (gap if start else 0)
        group = _Group(title=title, shape=shape, start=start, side=side, gap=gap)
        yield group
        start = group.end


def _check(
    patterns: Mapping[str, Float[np.ndarray, "_ _ _ _"]],
    masks: Mapping[str, Bool[np.ndarray, "_ _ _"]],
    chosen: tuple[str, int, int] | None,
) -> None:
    """Raise where what is given does not fit."""
    if not patterns or any(0 in pattern.shape for pattern in patterns.values()):
        raise ValueError(
            "There is no head to draw; give patterns [layer, head, row, column] of one attention at least."
        )
    sizes = {title: (len(pattern), *pattern.shape[2:]) for title, pattern in patterns.items()}
    if sizes != {title: mask.shape for title, mask in masks.items()}:
        raise ValueError(
            f"The masks do not fit the patterns, whose layers, rows and columns are {sizes}; give each a mask of its "
            "own size."
        )
    title, layer, head = chosen or (next(iter(patterns)), 0, 0)
    n_layers, n_heads = patterns[title].shape[:2] if title in patterns else (0, 0)
    if not (0 <= layer < n_layers and 0 <= head < n_heads):
        raise ValueError(f"There is no head {chosen} to frame; name one of the heads that are drawn.")


def _middle(start: int, length: int) -> float:
    """Return the middle of some cells."""
    return start + (length - 1) / 2


def _words(groups: Sequence[_Group]) -> go.Scatter:
    """Return unseen marks in the middle of the heads, which say which heads these are."""
    form = say("L{layer}.H{head}")
    marks = [
        (
            _middle(head * (group.side + group.gap), group.side),
            _middle(group.top(layer), group.height),
            (f"{escape(group.title)} " if len(groups) > 1 else "") + form.format(layer=layer, head=head),
        )
        for group in groups
        for layer in group.layers
        for head in group.heads
    ]
    x, y, hover_texts = zip(*marks, strict=True)
    return go.Scatter(
        name="heads",
        x=x,
        y=y,
        mode="markers",
        marker={"opacity": 0},
        showlegend=False,
        **hover(hover_texts),
    )


def _axis(kind: str, marks: Sequence[tuple[str, float]], pitch: float) -> dict[str, Any]:
    """Return an axis of layers or heads, thinned out where `pitch`, px from one to the next, is too small."""
    labels, places = zip(*marks[:: max(1, math.ceil(LINE / pitch))], strict=True)
    return label_axis(places, labels, size=11, title=axis_title(kind, standoff=2), ticklabelstandoff=2)


def _lines(group: _Group) -> dict[str, Any]:
    """Return the lines between and around the heads of an attention, as one shape."""
    left, top, *_ = group.box(0, 0)
    *_, right, bottom = group.box(group.layers[-1], group.heads[-1])
    down = [left, *(group.box(0, head)[2] for head in group.heads)]
    across = [top, *(group.box(layer, 0)[3] for layer in group.layers)]
    path = [f"M{x} {top}V{bottom}" for x in down] + [f"M{left} {y}H{right}" for y in across]
    return {"type": "path", "path": "".join(path), "line": {"color": FAINT, "width": 0.5}}


def _borders(group: _Group, share: float) -> dict[str, Any]:
    """Return the lines between two texts in the heads of an attention, as one shape."""
    n_columns = group.shape[3] * group.times[1]
    path = []
    for layer, head in np.ndindex(*group.shape[:2]):
        top = group.top(layer) - 0.5
        left = head * (group.side + group.gap) + (group.side - n_columns) // 2 - 0.5
        x, y = left + share * n_columns, top + share * group.height
        path += [f"M{x} {top}V{top + group.height}", f"M{left} {y}H{left + n_columns}"]
    return {"type": "path", "path": "".join(path), "line": {"color": DIVIDER, "width": 1}}


def _frame(groups: Sequence[_Group], title: str, layer: int, head: int) -> dict[str, Any]:
    """Return the frame of the chosen head."""
    group = next(group for group in groups if group.title == title)
    left, top, right, bottom = group.box(layer, head)
    return frame_around((left, right), (top, bottom), color=WARM, width=2.5)


def _name(group: _Group) -> dict[str, Any]:
    """Return an attention's name, above its first head."""
    left, top, *_ = group.box(0, 0)
    text, where = f"<b>{escape(group.title)}</b>", {"xref": "x", "yref": "y", "xshift": -1}
    return note(text, x=left, y=top, anchor=("left", "bottom"), size=13, **where)
