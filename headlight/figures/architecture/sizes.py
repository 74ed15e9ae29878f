"""Parameters of a model by part, the shares of several models, and costs by text length."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Real

from headlight.figures import elements
from headlight.figures.labels import escape
from headlight.figures.theme import FAINT, PART_HUES, STRONG, translucent
from headlight.language import localized, percent, say
from transformer_core.errors import mark

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
_ROW, _HEIGHT = 26, 300  # px: height of a bar, and of a figure of curves
_LEGEND = elements.LEGEND_ABOVE | {"bgcolor": "rgba(0,0,0,0)", "itemwidth": 30, "traceorder": "normal"}


def in_words(stack: str, part: str) -> str:
    """Return the displayed name of a part of a stack."""
    where = say(STACKS[stack])
    return f"{say(PARTS[part])} ({where})" if where else say(PARTS[part])


def parameter_bars(counts: Mapping[tuple[str, str], int], *, title: str) -> go.Figure:
    """Draw a bar for each part of each stack; `counts`: parameters by (stack, part), as `inventory` counts."""
    total = sum(counts.values()) or 1
    names = [escape(in_words(*key)) for key in counts]
    values = [*counts.values()]
    form = say("{part}: {n} parameters")
    bars = elements.bar_trace(
        "parameters",
        values,
        np.arange(len(values)),
        [form.format(part=name, n=localized(value)) for name, value in zip(names, values, strict=True)],
        color=[PART_HUES[part] for _, part in counts],
        texts=[f"{_short(value)} · {percent(value / total, 1)}" for value in values],
        is_horizontal=True,
    )
    layout = elements.figure_layout(title, height=60 + _ROW * len(values), margin=(8, 96, 40, 12)) | {
        "bargap": 0.35,
        "showlegend": False,
        "xaxis": {"visible": False, "range": [0, max(values, default=1)], "fixedrange": True},
        "yaxis": elements.row_axis(names, fixedrange=True),
    }
    return elements.figure_of([bars], layout)


def parameter_shares(models: Mapping[str, Mapping[str, int]], *, title: str) -> go.Figure:
    """Draw the share of each part in several models, one per row.

    Args:
        models: parameters by part, by the name of the model; the first is at the top.
        title: names the quantity.
    """
    totals = [sum(counts.values()) or 1 for counts in models.values()]
    form = say("{model}, {part}: {n} parameters, {share}")
    traces = []
    for part, hue in PART_HUES.items():
        counts = [of_model.get(part, 0) for of_model in models.values()]
        if not any(counts):
            continue
        hover_texts = [
            form.format(model=escape(name), part=say(PARTS[part]), n=localized(n), share=percent(n / total, 1))
            for name, n, total in zip(models, counts, totals, strict=True)
        ]
        shares = np.array(counts) / np.array(totals)
        look: dict[str, Any] = {"color": hue, "is_horizontal": True}
        traces.append(elements.bar_trace(say(PARTS[part]), shares, np.arange(len(models)), hover_texts, **look))
    labels = [
        f"{escape(name)}<br><span style='color:{FAINT}'>{_short(total)}</span>"
        for name, total in zip(models, totals, strict=True)
    ]
    layout = elements.figure_layout(title, height=130 + 44 * len(models), margin=(8, 20, 40, 84)) | {
        "barmode": "stack",
        "bargap": 0.4,
        "showlegend": True,
        "legend": elements.LEGEND_BELOW | {"traceorder": "normal"},
        "xaxis": {"range": [0, 1], "tickformat": ".0%", "nticks": 6, "fixedrange": True, "side": "top"},
        "yaxis": elements.row_axis(labels, fixedrange=True),
    }
    return elements.figure_of(traces, layout)


def _short(n: int) -> str:
    """Return a number with the prefix k, M or G."""
    for size, letter in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if n >= size:
            return f"{localized(n / size, f'.{int(n < 100 * size)}f')} {letter}"
    return str(n)


def cost_curves(
    lengths: Sequence[int],
    curves: Mapping[str, Real[np.ndarray, " length"]],
    *,
    hues: Sequence[str],
    title: str,
    unit: str,
    marks: Mapping[str, int] | None = None,
    dashed: Sequence[str] = (),
    in_bytes: bool = False,
) -> go.Figure:
    """Draw costs against the length of a text on two logarithmic axes.

    Args:
        lengths: in tokens, ascending.
        curves: the costs at each length, by name; 0 is not drawn.
        hues: one per curve.
        title: names the quantity.
        unit: of the costs, for the axis.
        marks: lengths to mark with a line, by their labels.
        dashed: names of dashed curves.
        in_bytes: whether the costs are bytes, shown as MiB.
    """
    known = {name: values.astype(np.float64) for name, values in curves.items()}

    def amount(value: float) -> str:
        return f"{localized(value / 2**20, ',.2f')} MiB" if in_bytes else f"{localized(value, ',.0f')} {escape(unit)}"

    positive = np.concatenate([values[values > 0] for values in known.values()] or [np.ones(1)])
    low, high = (float(positive.min()), float(positive.max())) if positive.size else (1.0, 10.0)
    traces = [
        elements.line_trace(
            escape(name),
            [*lengths],
            np.where(values > 0, values, np.nan),
            hue,
            mode="lines" if len(lengths) > 1 else "markers",
            line={"color": hue, "width": 2.2, "dash": "dash" if name in dashed else "solid"},
            **elements.hover([f"{escape(name)}: {amount(value)}" for value in values.tolist()]),
        )
        for (name, values), hue in zip(known.items(), hues, strict=True)
    ]
    ends = np.log10(low), np.log10(high)
    axis = {"type": "log", "range": [ends[0] - 0.15, ends[1] + 0.2], "dtick": max(1, round((ends[1] - ends[0]) / 5))}
    axis |= {"title": elements.axis_title(escape(unit)), "showgrid": True, "exponentformat": "power"}
    return _figure(traces, title, lengths, marks or {}, axis | (_byte_ticks(low, high) if in_bytes else {}))


def share_areas(
    lengths: Sequence[int],
    parts: Mapping[str, Real[np.ndarray, " length"]],
    *,
    hues: Sequence[str],
    title: str,
    marks: Mapping[str, int] | None = None,
) -> go.Figure:
    """Draw the share of each part of the cost over the length of a text.

    Args:
        lengths: in tokens, ascending.
        parts: the costs at each length, by name; they sum to the whole.
        hues: one per part.
        title: names the quantity.
        marks: lengths to mark with a line, by their labels.
    """
    total = np.maximum(sum(values.astype(np.float64) for values in parts.values()), 1.0)
    traces = [
        elements.line_trace(
            escape(name),
            [*lengths],
            values / total,
            hue,
            width=1.2,
            stackgroup="shares",
            fillcolor=translucent(hue, 0.55),
            **elements.hover([f"{escape(name)}: {percent(share, 1)}" for share in (values / total).tolist()]),
        )
        for (name, values), hue in zip(parts.items(), hues, strict=True)
    ]
    return _figure(traces, title, lengths, marks or {}, {"range": [0, 1], "tickformat": ".0%", "nticks": 5})


def _figure(
    traces: Sequence[go.Scatter],
    title: str,
    lengths: Sequence[int],
    marks: Mapping[str, int],
    axis: Mapping[str, Any],
) -> go.Figure:
    shown = {name: at for name, at in marks.items() if lengths[0] <= at <= lengths[-1]}
    ordered = sorted(shown.items(), key=lambda mark: mark[1])
    longest = max(lengths[-1], 2)
    digits = (1, 2, 5) if longest < 1000 else (1,)
    ticks = [digit * 10**power for power in range(len(str(longest))) for digit in digits]
    x_axis = elements.label_axis(
        ticks, map(localized, ticks), size=11, title=elements.axis_title(say("sequence length (tokens)"))
    )
    notes = []
    for i, (name, at) in enumerate(ordered):
        side, shift = ("right", -4) if at > np.sqrt(longest) else ("left", 4)
        x, y = float(np.log10(at)), 0.03 + 0.1 * (i % 2)
        notes.append(elements.note(escape(name), x=x, xref="x", xshift=shift, y=y, anchor=(side, "bottom")))
    layout = elements.figure_layout(title, height=_HEIGHT, margin=(8, 12, 78, 44)) | {
        "hovermode": "x unified",
        "showlegend": True,
        "legend": _LEGEND,
        "shapes": [
            elements.line_at(x=at, color=FAINT if i else STRONG, width=1.5, dash="dot")
            for i, (_, at) in enumerate(ordered)
        ],
        "annotations": notes,
        "xaxis": x_axis
        | {"type": "log", "range": [0.0, max(np.log10(longest), 0.31)]}
        | {"unifiedhovertitle": {"text": "<b>%{x:,d}</b>"}},
        "yaxis": {"tickfont": {"size": 11}, "automargin": True, **axis},
    }
    return elements.figure_of(traces, layout)


def _byte_ticks(low: float, high: float) -> dict[str, Any]:
    names = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
    powers = [power for power in range(0, 10 * len(names)) if low / 2 <= 2.0**power <= 2 * high]
    step = max(1, -(-len(powers) // 6))
    chosen = [power for power in powers if power % max(step, 1) == 0]
    return {
        "tickmode": "array",
        "tickvals": [2.0**power for power in chosen],
        "ticktext": [f"{localized(2 ** (power % 10))} {names[power // 10]}" for power in chosen],
    }
