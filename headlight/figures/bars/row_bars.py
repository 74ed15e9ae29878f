"""Where one query attends: a bar for each key, in the order of the text."""

import math
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float

from headlight.figures.elements import axis_title, bar_trace, figure_layout, figure_of, frame_around, hover, line_at
from headlight.figures.heatmaps.cells import BROKEN, FORBIDDEN, NUMBERS_UP_TO, broken_cells, masked_cells
from headlight.figures.labels import LINE, isolate, shorten, text_width
from headlight.figures.quantities import QUANTITIES, QuantityName
from headlight.figures.theme import DIVIDER, KEY
from headlight.figures.token_grid import TokenGrid, token_legends
from headlight.language import say

_ROOM = 0.08  # fraction of the range, for the number above the highest bar
_BESIDE = 60  # px, for the axis of the weights
_HEIGHT = 260  # px


def row_bars(
    values: Float[np.ndarray, " key"],
    grid: TokenGrid,
    *,
    quantity: QuantityName = "pattern",
    title: str | None = None,
    mask: Bool[np.ndarray, " key"] | None = None,
    largest: float | None = None,
    entropy: float | None = None,
) -> go.Figure:
    """Draw one query's row of a pattern.

    Args:
        values: weights that sum to 1, or another quantity; "log" takes weights, too.
        grid: one query and all its keys; its marked key is framed.
        quantity: a name in QUANTITIES.
        title: None: which query it is.
        mask: True = may attend; other keys have a neutral color. None: all values that are not -inf.
        largest: end of the axis of scores and lengths; None: the largest absolute value.
        entropy: of the row, in nats, for the subtitle.

    Returns:
        A figure over integer positions; the axis of weights goes from 0 to 1, that of powers of ten from 10^-4.

    Raises:
        ValueError: the labels do not fit the values.
    """
    queries, keys = grid.axes((1, len(values)))
    (query,) = queries.words
    what = QUANTITIES[quantity]
    mask = ~np.isneginf(values) if mask is None else mask
    broken = mask & ~np.isfinite(values)
    shown = mask & ~broken
    finite = np.where(np.isneginf(values), 0.0, values)
    low, high = limits = what.limits(values[shown], largest)
    before, decimals = say(what.before), what.decimals(high)
    base = low if what.scale == "power" else 0.0
    heights = what.drawn(finite)
    heights = np.maximum(heights, low) if what.scale == "power" else heights
    room = _ROOM * (high - low)
    y_range = [low - (room if what.scale == "signed" else 0.0), high + room]

    def ground(text: str) -> dict[str, Any]:
        words = np.array([[f"{query} \u2192 {key}: {say(text)}" for key in keys.words]], dtype=object)
        return {"x0": keys.first, "dx": 1, "y": y_range, "hoverongaps": False} | hover(words)

    traces: list[Any] = [] if mask.all() else [masked_cells(mask[None], **ground(FORBIDDEN))]
    traces += [broken_cells(broken[None], **ground(BROKEN))] if broken.any() else []
    numbers = {}
    if len(values) <= NUMBERS_UP_TO:
        texts = iter(what.in_cells(values[shown], limits)[0])
        numbers = {"texts": [next(texts) if seen else "" for seen in shown.tolist()]}
    hover_texts = [
        f"{query} \u2192 {key}: {before}{number}"
        for key, number in zip(keys.words, what.written(finite.tolist(), decimals), strict=True)
    ]
    ends, places = np.where(shown, heights - base, np.nan), np.arange(len(values)) + keys.first
    look: dict[str, Any] = {"base": base, "color": KEY} | numbers
    traces.append(bar_trace(say(what.trace), ends, places, hover_texts, **look))
    subtitle = ""
    if entropy is not None:
        fields = {"entropy": entropy, "n": shown.sum().item(), "even": math.log(max(shown.sum(), 1))}
        subtitle = say("entropy {entropy:.2f} nats (uniform over {n} keys: {even:.2f})", **fields)
    if title is None:
        token = isolate(grid.query_tokens[0])
        title = say("Attention from query {place} '{token}'", place=grid.first_query, token=token)
    ticks = what.colors(limits)["colorbar"]
    width = grid.width - _BESIDE
    longest = max((text_width(shorten(token)) for token in keys.tokens), default=0.0)
    is_slanted = longest > 0.8 * width / max(keys.n_cells, 1)
    key_axis = keys.axis(grid.key_name, room=width, apart=LINE + 6 if is_slanted else LINE)
    key_axis |= {"range": list(keys.ends), "tickangle": -45 if is_slanted else 0, "automargin": True}
    margin = (_BESIDE, 8, 58 if subtitle else 38, 8)
    layout = figure_layout(title, height=grid.height or _HEIGHT, margin=margin, subtitle=subtitle) | {
        "meta": token_legends(xaxis=(keys, key_axis)),
        "bargap": 0.15 if len(values) <= 64 else 0,
        "barmode": "overlay",
        "xaxis": key_axis,
        "yaxis": {
            "title": axis_title(say(what.unit) or before.strip() or say("weight"), size=13),
            "range": y_range,
            "tickmode": "array",
            "tickvals": ticks["tickvals"],
            "ticktext": ticks.get("ticktext", ticks["tickvals"]),
            "showgrid": True,
            "zeroline": what.scale == "signed",
            "zerolinewidth": 1,
        },
        "showlegend": False,
    }
    framed = keys.around(grid.marked[1])
    layout["shapes"] = [frame_around(framed, (0, 1), yref="paper", color=KEY, width=1.5)] if framed else []
    if keys.border is not None:
        layout["shapes"].append(line_at(x=keys.border, color=DIVIDER, width=1.5))
    return figure_of(traces, layout)
