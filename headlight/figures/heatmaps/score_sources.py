"""Scores as sums: a head's scores by positional part, and a single score over pairs of query and key sources."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float

from headlight.figures import elements
from headlight.figures.heatmaps.cells import FORBIDDEN, NUMBERS_UP_TO, masked_cells
from headlight.figures.heatmaps.number_panels import Scale, cell_texts, number_cells
from headlight.figures.labels import LINE, escape, shorten, text_width
from headlight.figures.quantities import rounded
from headlight.figures.theme import FAINT, KEY, QUERY, STRONG, WARM
from headlight.figures.token_grid import TokenAxis, TokenGrid
from headlight.language import say

_IN_ROW = 3  # matrices per row
_TITLE, _NAME, _GAP, _LEFT, _RIGHT = 28, 24, 14, 100, 64  # px
_LETTERS = 9  # maximum letters of a token beside a small matrix
_BAR = 27  # px
_CELLS = (150, 250)  # px: total height of the cells of a matrix, at least and at most
MOST_SOURCES = 12  # per side
_ROW, _LEAST = 26, 170  # px: height of a row, and minimum height of all rows, so that the axis title fits
_LABEL = 30  # characters of a source
_HEADER, _BESIDE, _AXIS = 52, 70, 22  # px: title and subtitle, the bar of colors, the title of an axis
_NUMBER = 34  # px of a number of five letters in a cell
_WIDTH = 760  # px that the figure is laid out for


def position_parts(
    parts: Mapping[str, Float[np.ndarray, "query key"]],
    shares: Mapping[str, float],
    scores: Float[np.ndarray, "query key"],
    mask: Bool[np.ndarray, "query key"],
    grid: TokenGrid,
    *,
    title: str,
) -> go.Figure:
    """Draw a matrix for each part and one for the scores, all on one scale.

    Args:
        parts: by their names; they sum to the scores.
        shares: by the same names; together 1, NaN where undefined.
        scores: of the head, where the mask allows them.
        mask: True = may attend; other cells have a neutral color.
        grid: tokens and names.
        title: names the head.

    Raises:
        ValueError: labels, parts and shares do not fit together.
    """
    total = say("sum: the scores")
    panels = {**parts, total: scores}
    if any(part.shape != mask.shape for part in panels.values()) or [*parts] != [*shares]:
        raise ValueError("Parts, shares, scores and mask do not fit together; give each part a share, and one shape.")
    queries, keys = grid.axes(scores.shape)
    n_columns = min(_IN_ROW, len(panels))
    n_rows = math.ceil(len(panels) / n_columns)
    cells = min(max(LINE * queries.n_cells, _CELLS[0]), _CELLS[1])
    longest = max((text_width(shorten(token, _LETTERS)) for token in keys.tokens), default=0.0)
    inner = n_rows * (_NAME + cells) + (n_rows - 1) * _GAP
    below_all = round(min(longest, 11 * 7) + 34)
    scale = Scale.of([panel[mask] for panel in panels.values()], diverging=True, decimals=1)
    height = inner + _TITLE + below_all
    layout = elements.figure_layout(title, height=height, margin=(_LEFT, _RIGHT, _TITLE, below_all))
    layout |= {"annotations": [], "shapes": [], "showlegend": False} | scale.layout()
    traces: list[Any] = []
    across = (1 - 0.03 * (n_columns - 1)) / n_columns
    for number, (name, values) in enumerate(panels.items()):
        row, column = divmod(number, n_columns)
        left = column * (across + 0.03)
        above = 1 - (row * (_NAME + cells + _GAP) + _NAME) / inner
        x, y = _axis(keys, is_labelled=row == n_rows - 1), _axis(queries, is_labelled=column == 0)
        if row == n_rows - 1 and column == n_columns // 2:
            x["title"] = elements.bold_title(grid.key_name, KEY)
        if column == 0 and row == (n_rows - 1) // 2:
            y["title"] = elements.bold_title(grid.query_name, QUERY)
        y["range"] = y["range"][::-1]
        refs = elements.add_panel(
            layout, number, x, y, across=(left, left + across), down=(above - cells / inner, above)
        )
        if not mask.all():
            template = f"{escape(say(FORBIDDEN))}<extra></extra>"
            traces.append(masked_cells(mask, name="", hovertemplate=template, hoverongaps=False, **refs))

        def words(query: str, key: str, value: float, name: str = name) -> str:
            return f"{query} \u2192 {key}<br>{escape(name)}: {rounded(value, 3)}"

        texts = elements.hover(np.array(cell_texts(values, queries.words, keys.words, words), dtype=object))
        shown = np.where(mask, values, np.nan)
        traces += number_cells(
            shown, scale, texts | {"hoverongaps": False}, name=escape(name), gap=int(max(mask.shape) <= 24), axes=refs
        )
        layout["shapes"] += elements.border_lines(queries.tokens, keys.tokens, **refs)
        sign = "= " if name == total else "+ " if number else ""
        share = shares.get(name, math.nan)
        percent = "" if math.isnan(share) else f"  {rounded(100 * share, 0)} %"
        header = f"{sign}<b>{escape(name)}</b>{percent}"
        note = elements.note(header, x=left, y=above, anchor=("left", "bottom"), size=13, name="panel")
        layout["annotations"].append(note)
    return elements.figure_of(traces, layout)


def _axis(tokens: TokenAxis, *, is_labelled: bool) -> dict[str, Any]:
    labels = [escape(shorten(token, _LETTERS)) for token in tokens.tokens] if is_labelled else []
    return elements.label_axis(range(len(labels)), labels, size=11, range=[*tokens.ends])


def part_shares(shares: Mapping[str, float], *, title: str) -> go.Figure:
    """Draw a bar for each share, to the left of zero where a part works against the others.

    Args:
        shares: by the names of the parts; together 1, NaN where undefined.
        title: names the quantity.
    """
    values = [0.0 if math.isnan(share) else share for share in shares.values()]
    hover_texts = [
        f"{escape(name)}: " + (say("no differences") if math.isnan(share) else f"{rounded(100 * share, 1)} %")
        for name, share in shares.items()
    ]
    color = [STRONG if value >= 0 else WARM for value in values]
    look: dict[str, Any] = {"color": color, "is_horizontal": True, "width": 0.62}
    bars = elements.bar_trace("", values, [*range(len(values))], hover_texts, **look)
    layout = elements.figure_layout(title, height=_BAR * len(values) + 74, margin=(8, 24, 34, 40)) | {
        "showlegend": False,
        "xaxis": {"range": [min(0.0, *values, 0.0) * 1.1, max(1.0, *values, 1.0) * 1.02], "tickformat": ".0%"}
        | {"showgrid": True, "zeroline": True, "zerolinecolor": FAINT, "tickfont": {"size": 11}, "nticks": 6}
        | {"title": {"text": escape(say("share of the variance within rows")), "font": {"size": 12}}},
        "yaxis": elements.row_axis([*map(escape, shares)], size=12),
    }
    return elements.figure_of([bars], layout)


def score_sources_heatmap(
    values: Float[np.ndarray, "source_q source_k"],
    query_sources: Sequence[str],
    key_sources: Sequence[str],
    *,
    query: str,
    key: str,
    title: str,
) -> go.Figure:
    """Draw the contribution of each pair of sources to a score, and the sum of each row and column.

    Args:
        values: they sum to the score.
        query_sources: the summands of the query, the rows.
        key_sources: the summands of the key, the columns.
        query: name of the query, "query 7 'it'".
        key: name of the key.
        title: names the quantity.

    Returns:
        A figure over integer positions, with its largest cell in the subtitle; the sums are after the last row and
        column. Of more than `MOST_SOURCES` sources per side the largest are drawn, in their order, and the others as
        one.

    Raises:
        ValueError: the names do not fit.
    """
    if (len(query_sources), len(key_sources)) != values.shape:
        raise ValueError(
            f"There are {values.shape[0]} rows and {values.shape[1]} columns, but {len(query_sources)} and "
            f"{len(key_sources)} names of sources; give one each."
        )
    row, column = divmod(int(np.abs(values).argmax()), len(key_sources))
    pair = {"query": query_sources[row], "key": key_sources[column], "value": _signed(values[row, column].item())}
    largest = say("Largest contribution: {query} × {key} {value}", **pair)
    values, rows = _largest(values, query_sources)
    transposed, columns = _largest(values.T, key_sources)
    values = transposed.T
    rows, columns = [*rows, say("total")], [*columns, say("total")]
    scale = Scale.of([values], diverging=True, decimals=1)
    sums = np.block([[values, values.sum(axis=1, keepdims=True)], [values.sum(axis=0), values.sum()]])
    left, longest = (max(text_width(shorten(name, _LABEL)) for name in names) for names in (rows, columns))
    left += _AXIS
    is_slanted = longest > 0.95 * (_WIDTH - left - _BESIDE) / len(columns)
    below = (0.6 * longest if is_slanted else LINE) + _AXIS + 12

    def words(of_query: str, of_key: str, value: float) -> str:
        return f"{escape(query)}: {escape(of_query)}<br>{escape(key)}: {escape(of_key)}<br>{_signed(value)}"

    traces = number_cells(
        sums,
        scale,
        cell_texts(sums, rows, columns, words),
        name=say("score"),
        write=lambda value: _signed(value, 2 if abs(value) < 9.995 else 1),
        is_written=len(columns) <= NUMBERS_UP_TO,
        gap=1,
    )
    height = round(_HEADER + max(len(rows) * _ROW, _LEAST) + below)
    ends, edges = (len(columns) - 0.5, len(rows) - 0.5), (len(columns) - 1.5, len(rows) - 1.5)
    layout = elements.figure_layout(title, height=height, margin=(left, _BESIDE, _HEADER, below), subtitle=largest) | {
        "xaxis": _source_axis(say("source of {token}", token=key), columns, KEY)
        | {"range": [-0.5, ends[0]], "tickangle": -45 if is_slanted else 0},
        "yaxis": _source_axis(say("source of {token}", token=query), rows, QUERY) | {"range": [ends[1], -0.5]},
        "shapes": [
            elements.segment((-0.5, ends[0]), (edges[1], edges[1]), color=FAINT, width=1.5),
            elements.segment((edges[0], edges[0]), (-0.5, ends[1]), color=FAINT, width=1.5),
        ],
        "meta": {"textFromWidth": round(left + _BESIDE + _NUMBER * len(columns))},
    }
    return elements.figure_of(traces, layout | scale.layout(len=1))


def _largest(
    values: Float[np.ndarray, "source other"], names: Sequence[str]
) -> tuple[Float[np.ndarray, "_ other"], list[str]]:
    """Return the rows with the largest cells, in their order, then the sum of the others."""
    if len(names) <= MOST_SOURCES:
        return values, [*names]
    order = np.argsort(-np.abs(values).max(axis=1), kind="stable")
    kept, others = np.sort(order[: MOST_SOURCES - 1]), order[MOST_SOURCES - 1 :]
    summed = np.vstack([values[kept], values[others].sum(axis=0)])
    return summed, [*(names[place] for place in kept.tolist()), say("{n} others", n=len(others))]


def _signed(value: float, decimals: int = 2) -> str:
    number = rounded(value, decimals)
    return f"+{number}" if round(value, decimals) > 0 else number


def _source_axis(title: str, names: Sequence[str], hue: str) -> dict[str, Any]:
    """Return the axis of sources; the last label, of the sums, is bold."""
    labels = [escape(shorten(name, _LABEL)) for name in names]
    labels[-1] = f"<b>{escape(names[-1])}</b>"
    title_of = elements.axis_title(escape(title), size=13, standoff=6, hue=hue)
    return elements.label_axis(range(len(labels)), labels, size=12, title=title_of)
