"""Where a model's parameters are: a bar for each part, and several models' shares beside each other."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

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
    """Return what a part of a stack is called, in the reader's language."""
    where = say(STACKS[stack])
    return f"{say(PARTS[part])} ({where})" if where else say(PARTS[part])


def parameter_bars(counts: Mapping[tuple[str, str], int], *, title: str, height: int | None = None) -> go.Figure:
    """Draw a bar for each part of each stack.

    Args:
        counts: parameters by (stack, part), as `analysis.inventory` counts them.
        title: names the quantity.
        height: px; None: what the bars need.
    """
    total = sum(counts.values()) or 1
    names = [in_words(*key) for key in counts]
    values = [*counts.values()]
    form = say("{part}: {n} parameters")
    hover_texts = [form.format(part=escape(name), n=grouped(value)) for name, value in zip(names, values, strict=True)]
    bars = go.Bar(
        name="parameters",
        x=values,
        y=np.arange(len(values)),
        orientation="h",
        marker={"color": [PART_HUES[part] for _, part in counts], "line": {"width": 0}},
        text=[f"{_short(value)} · {percent(value / total, 1)}" for value in values],
        textposition="outside",
        cliponaxis=False,
        **hover(hover_texts),
    )
    layout = figure_layout(title, height=height or 60 + _ROW * len(values), margin=(8, 96, 40, 12)) | {
        "bargap": 0.35,
        "showlegend": False,
        "xaxis": {"visible": False, "range": [0, max(values, default=1)], "fixedrange": True},
        "yaxis": row_axis([escape(name) for name in names], fixedrange=True),
    }
    return figure_of([bars], layout)


def parameter_shares(models: Mapping[str, Mapping[str, int]], *, title: str, height: int | None = None) -> go.Figure:
    """Draw the share of each part in several models, a row each.

    Args:
        models: parameters by part, by the model's name; the first is the topmost.
        title: names the quantity.
        height: px; None: what the rows need.
    """
    rows = np.arange(len(models))
    totals = [sum(counts.values()) or 1 for counts in models.values()]
    traces = []
    for part, hue in PART_HUES.items():
        part_counts = [counts.get(part, 0) for counts in models.values()]
        if not any(part_counts):
            continue
        shares: Float[np.ndarray, " model"] = np.array(part_counts) / np.array(totals)
        traces.append(
            go.Bar(
                name=say(PARTS[part]),
                x=shares,
                y=rows,
                orientation="h",
                marker={"color": hue, "line": {"width": 0}},
                **hover(_hover_texts(part, part_counts, totals, [*models])),
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


def _hover_texts(part: str, part_counts: Sequence[int], totals: Sequence[int], names: Sequence[str]) -> list[str]:
    """Return each share in words."""
    return [
        say(
            "{model}, {part}: {n} parameters, {share}",
            model=escape(name),
            part=say(PARTS[part]),
            n=grouped(count),
            share=percent(count / total, 1),
        )
        for name, count, total in zip(names, part_counts, totals, strict=True)
    ]


def _short(n: int) -> str:
    """Return a number of parameters in a few letters."""
    for size, letter in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if n >= size:
            return f"{n / size:.{1 if n < 100 * size else 0}f} {letter}"
    return str(n)
