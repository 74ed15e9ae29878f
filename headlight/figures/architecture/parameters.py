"""Parameters of a model by part, and the shares of several models."""

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from headlight.figures.architecture.hues import PART_HUES
from headlight.figures.hues import FAINT
from headlight.figures.labels import escape
from headlight.figures.layout import LEGEND_BELOW, figure_layout, figure_of, hover, row_axis
from transformer_core.errors import mark
from transformer_core.language import grouped, percent, say

STACKS = {
    "encoder": mark("encoder"),
    "decoder": mark("decoder"),
    "both": mark("shared"),
    "": "",
}
PARTS = {
    "token embedding": mark("token embedding"),
    "segment embedding": mark("segment embedding"),
    "positions": mark("positions"),
    "self-attention": mark("self-attention"),
    "cross-attention": mark("cross-attention"),
    "feed-forward": mark("feed-forward"),
    "normalization": mark("normalization"),
    "last layer": mark("last layer"),
}
_ROW = 26  # px


def in_words(stack: str, part: str) -> str:
    """Return the displayed name of a part of a stack."""
    where = say(STACKS[stack])
    return f"{say(PARTS[part])} ({where})" if where else say(PARTS[part])


def parameter_bars(counts: Mapping[tuple[str, str], int], *, title: str) -> go.Figure:
    """Draw a bar for each part of each stack; `counts`: parameters by (stack, part), as `analysis.inventory` counts."""
    total = sum(counts.values()) or 1
    names = [escape(in_words(*key)) for key in counts]
    values = [*counts.values()]
    form = say("{part}: {n} parameters")
    bars = go.Bar(
        name="parameters",
        x=values,
        y=np.arange(len(values)),
        orientation="h",
        marker={"color": [PART_HUES[part] for _, part in counts], "line": {"width": 0}},
        text=[f"{_short(value)} · {percent(value / total, 1)}" for value in values],
        textposition="outside",
        cliponaxis=False,
        **hover([form.format(part=name, n=grouped(value)) for name, value in zip(names, values, strict=True)]),
    )
    layout = figure_layout(title, height=60 + _ROW * len(values), margin=(8, 96, 40, 12)) | {
        "bargap": 0.35,
        "showlegend": False,
        "xaxis": {"visible": False, "range": [0, max(values, default=1)], "fixedrange": True},
        "yaxis": row_axis(names, fixedrange=True),
    }
    return figure_of([bars], layout)


def parameter_shares(models: Mapping[str, Mapping[str, int]], *, title: str, height: int | None = None) -> go.Figure:
    """Draw the share of each part in several models, one per row.

    Args:
        models: parameters by part, by the name of the model; the first is at the top.
        title: names the quantity.
        height: px; None: what the rows need.
    """
    totals = [sum(counts.values()) or 1 for counts in models.values()]
    form = say("{model}, {part}: {n} parameters, {share}")
    traces = []
    for part, hue in PART_HUES.items():
        counts = [of_model.get(part, 0) for of_model in models.values()]
        if not any(counts):
            continue
        hover_texts = [
            form.format(model=escape(name), part=say(PARTS[part]), n=grouped(n), share=percent(n / total, 1))
            for name, n, total in zip(models, counts, totals, strict=True)
        ]
        traces.append(
            go.Bar(
                name=say(PARTS[part]),
                x=np.array(counts) / np.array(totals),
                y=np.arange(len(models)),
                orientation="h",
                marker={"color": hue, "line": {"width": 0}},
                **hover(hover_texts),
            )
        )
    labels = [
        f"{escape(name)}<br><span style='color:{FAINT}'>{_short(total)}</span>"
        for name, total in zip(models, totals, strict=True)
    ]
    layout = figure_layout(title, height=height or 130 + 44 * len(models), margin=(8, 20, 40, 84)) | {
        "barmode": "stack",
        "bargap": 0.4,
        "showlegend": True,
        "legend": LEGEND_BELOW | {"traceorder": "normal"},
        "xaxis": {"range": [0, 1], "tickformat": ".0%", "nticks": 6, "fixedrange": True, "side": "top"},
        "yaxis": row_axis(labels, fixedrange=True),
    }
    return figure_of(traces, layout)


def _short(n: int) -> str:
    """Return a number with the prefix k, M or G."""
    for size, letter in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if n >= size:
            return f"{n / size:.{1 if n < 100 * size else 0}f} {letter}"
    return str(n)
