"""Where one query looks: a bar for each key, in the order of the text."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float

from headlight.figures.heatmaps.cells import BROKEN, FORBIDDEN, NUMBERS_UP_TO
from headlight.figures.hues import DIVIDER, NOT_FINITE, category_hues, translucent
from headlight.figures.labels import LINE, escape, isolate, shorten, text_width
from headlight.figures.layout import axis_title, figure_layout, figure_of, frame_around, hover, line_at
from headlight.figures.quantities import QUANTITIES, Limits, Quantity, QuantityName
from headlight.figures.theme import KEY
from headlight.figures.token_axes import WIDTH, Places, token_legends
from transformer_core.errors import mark
from transformer_core.language import say

_ROOM = 0.08  # of the range, so that a number stands above the highest bar
_BESIDE = 60  # px, for the axis of the weights


def row_bars(
    values: Float[np.ndarray, " key"],
    key_tokens: Sequence[str],
    *,
    query: int,
    query_token: str,
    entropy: float | None = None,
    n_allowed: int | None = None,
    allowed: Bool[np.ndarray, " key"] | None = None,
    first_key: int = 0,
    quantity: QuantityName = "pattern",
    largest: float | None = None,
    others: Mapping[str, Float[np.ndarray, " key"]] | None = None,
    name: str = mark("this head"),
    chosen: int | None = None,
    title: str | None = None,
    key_name: str = mark("key"),
    width: int = WIDTH,
    height: int = 260,
) -> go.Figure:
    """Draw one query's row of a pattern, and those of other heads as lines above it.

    Args:
        values: weights that sum to 1, or another quantity; "log" takes weights, too.
        key_tokens: the labels of the keys.
        query: the place of the query in the text.
        query_token: its label.
        entropy: of the row, in nats; None: not told.
        n_allowed: how many keys the query may attend to, to compare the entropy with; None: as many as `allowed` says.
        allowed: True = may attend. Other keys are painted in a neutral color, not as zeros.
        first_key: the place of the first key in the whole text, where the figure is a window of it.
        quantity: what the values are, a name in QUANTITIES.
        largest: the end of the axis of scores and lengths; None: the largest size that is drawn.
        others: the same row of other heads, by their names.
        name: of the head whose row `values` is; told where there are others.
        chosen: a key to frame, as a place in the whole text.
        title: None: the query, and that this is where it looks.
        key_name: what the keys are, for the axis title.
        width: px that the figure is laid out for; it takes the width that it is given.
        height: px.

    Returns:
        A figure over integer positions; the axis of weights goes from 0 to 1, by powers of ten from 10^-4.

    Raises:
        ValueError: the labels do not fit the values.
    """
    if len(key_tokens) != len(values):
        raise ValueError(
            f"The row has {len(values)} keys, but there are {len(key_tokens)} labels; give one label a key."
        )
    what = QUANTITIES[quantity]
    keys = Places(kind="key", tokens=key_tokens, n_cells=len(key_tokens), first=first_key)
    allowed = ~np.isneginf(values) if allowed is None else allowed
    is_broken = allowed & ~np.isfinite(values)
    is_seen = allowed & ~is_broken
    rows = {name: values} | dict(others or {})
    limits = what.limits(np.concatenate([row[is_seen & np.isfinite(row)] for row in rows.values()]), largest)
    asking = say("query {place} '{token}'", place=query, token=escape(isolate(query_token)))
    hover_texts = {of: _words(row, asking, keys, what, limits, of if others else "") for of, row in rows.items()}

    ground = partial(_ground, asking=asking, keys=keys, what=what, limits=limits)
    traces: list[Any] = [*ground(~allowed, FORBIDDEN, coloraxis="coloraxis2")]
    traces += ground(is_broken, BROKEN, colorscale=[[0, NOT_FINITE], [1, NOT_FINITE]], showscale=False)
    traces.append(_bars(values, is_seen, keys, what, limits, hover_texts[name], name=name, with_numbers=not others))
    places = np.arange(len(values)) + first_key
    traces += [
        go.Scatter(
            name=escape(of),
            x=places,
            y=np.where(is_seen, _heights(row, what, limits), np.nan),
            mode="lines+markers" if len(values) > 1 else "markers",
            line={"color": hue, "width": 1.5, "shape": "hvh"},
            marker={"color": hue, "size": 5},
            showlegend=True,
            **hover(hover_texts[of]),
        )
        for (of, row), hue in zip(list(rows.items())[1:], _line_hues(len(rows) - 1), strict=True)
    ]
    n = int(is_seen.sum()) if n_allowed is None else n_allowed
    subtitle = (
        ""
        if entropy is None
        else say(
            "entropy {entropy:.2f} nats (uniform over {n} keys: {even:.2f})",
            entropy=entropy,
            n=n,
            even=math.log(max(n, 1)),
        )
    )
    framed = keys.around(chosen)
    if title is None:
        title = say("Attention from query {place} '{token}'", place=query, token=isolate(query_token))
    margin = (_BESIDE, 8, 38 + (20 if subtitle else 0) + (22 if others else 0), 8)
    key_axis = _key_axis(keys, key_name, width - _BESIDE)
    layout = figure_layout(title, height=height, margin=margin, subtitle=subtitle) | {
        "meta": token_legends(xaxis=(keys, key_axis)),
        "bargap": 0.15 if len(values) <= 64 else 0,
        "barmode": "overlay",
        "xaxis": key_axis,
        "yaxis": _value_axis(what, limits),
        "showlegend": bool(others),
        "legend": {
            "orientation": "h",
            "x": 1,
            "xanchor": "right",
            "y": 1.02,
            "yanchor": "bottom",
            "font": {"size": 12},
        },
    }
    layout["shapes"] = [frame_around(framed, (0, 1), yref="paper", color=KEY, width=1.5)] if framed else []
    if keys.border is not None:
        layout["shapes"].append(line_at(x=keys.border, color=DIVIDER, width=1.5))
    return figure_of(traces, layout)


def _bars(
    values: Float[np.ndarray, " key"],
    is_seen: Bool[np.ndarray, " key"],
    keys: Places,
    what: Quantity,
    limits: Limits,
    hover_texts: list[str],
    *,
    name: str,
    with_numbers: bool,
) -> go.Bar:
    """Return the bars of the keys that may be attended to, with their numbers where there is room."""
    numbers = {}
    if with_numbers and len(values) <= NUMBERS_UP_TO:
        texts = iter(what.in_cells(values[is_seen], limits)[0])
        numbers = {"text": [next(texts) if seen else "" for seen in is_seen.tolist()], "textposition": "outside"}
    return go.Bar(
        name=escape(say(name)),
        x=np.arange(len(values)) + keys.first,
        y=np.where(is_seen, _heights(values, what, limits) - _base(what, limits), np.nan),
        base=_base(what, limits),
        marker={"color": KEY if with_numbers else translucent(KEY, 0.55), "line": {"width": 0}},
        cliponaxis=False,
        **hover(hover_texts),
        **numbers,
    )


def _ground(
    has_ground: Bool[np.ndarray, " key"],
    said: str,
    asking: str,
    keys: Places,
    what: Quantity,
    limits: Limits,
    **color: Any,
) -> list[go.Heatmap]:
    """Return the ground behind keys without a bar, in the color that such cells have: masked, or not finite."""
    if not has_ground.any():
        return []
    return [
        go.Heatmap(
            name=say(said),
            x0=keys.first,
            dx=1,
            y=list(_range(what, limits)),
            z=np.where(has_ground, 0.0, np.nan)[None].astype(np.float32),
            hoverongaps=False,
            **color,
            **hover(np.array([[f"{asking} \u2192 {key}: {say(said)}" for key in keys.words]], dtype=object)),
        )
    ]


def _words(
    values: Float[np.ndarray, " key"],
    asking: str,
    keys: Places,
    what: Quantity,
    limits: Limits,
    of: str,
) -> list[str]:
    """Each bar in words, with the head's name before them where several are drawn."""
    finite = np.where(np.isneginf(values), 0.0, values).tolist()
    before = f"<b>{escape(say(of))}</b><br>" if of else ""
    ahead = say(what.before)
    return [
        f"{before}{asking} \u2192 {key}: {ahead}{number}"
        for key, number in zip(keys.words, what.written(finite, what.decimals(limits[1])), strict=True)
    ]


def _heights(values: Float[np.ndarray, " key"], what: Quantity, limits: Limits) -> Float[np.ndarray, " key"]:
    """Return how high each bar is on the axis; none is below the axis of powers of ten."""
    drawn = what.drawn(np.where(np.isneginf(values), 0.0, values))
    return np.maximum(drawn, limits[0]) if what.scale == "power" else drawn


def _base(what: Quantity, limits: Limits) -> int | float:
    """Return where bars begin."""
    return limits[0] if what.scale == "power" else 0.0


def _range(what: Quantity, limits: Limits) -> Limits:
    """Return the range of the axis: a little more than the highest bar."""
    low, high = limits
    room = _ROOM * (high - low)
    return low - (room if what.scale == "signed" else 0.0), high + room


def _value_axis(what: Quantity, limits: Limits) -> dict[str, Any]:
    """Return the axis of the values, with the ticks of the bar of colors."""
    ticks = what.colors(limits)["colorbar"]
    return {
        "title": axis_title(say(what.unit) or say(what.before).strip() or say("weight"), size=13),
        "range": list(_range(what, limits)),
        "tickmode": "array",
        "tickvals": ticks["tickvals"],
        "ticktext": ticks.get("ticktext", ticks["tickvals"]),
        "showgrid": True,
        "zeroline": what.scale == "signed",
        "zerolinewidth": 1,
    }


def _line_hues(n: int) -> list[str]:
    """Return the hues of other heads' lines: not that of keys, which the bars have."""
    first, _, *others = category_hues(n + 1) if n else ["", ""]
    return [first, *others][:n]


def _key_axis(keys: Places, name: str, width: int) -> dict[str, Any]:
    """Return the axis of the keys, below the bars."""
    longest = max((text_width(shorten(token)) for token in keys.tokens), default=0.0)
    is_slanted = longest > 0.8 * width / max(keys.n_cells, 1)
    return keys.axis(name, room=width, apart=LINE + 6 if is_slanted else LINE) | {
        "range": list(keys.ends),
        "tickangle": -45 if is_slanted else 0,
        "automargin": True,
    }
