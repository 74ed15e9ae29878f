"""The cells of a grid of queries and keys: their colors, their words, the numbers in them, and what is marked.

**Words in the browser.** A text for each cell is most of what a large figure weighs. Above `MOST_TOLD` cells the figure
is sent without them, and the browser composes the same ones from `layout.meta["words"]`:

- `queries`, `keys`: what each row and each column is called, ready to be shown;
- `before`: what stands before a number, ready to be shown;
- `format`: of a cell's number z, as Python writes formats: ".2f" or "+.2f", with \u2212 for a minus;
- `power`: where it is true, the number told is not z but 10 to the power of z, with two significant digits and without
  an exponent; where z is -6 or less, "below 0.000001" is told;
- `forbidden`: what is said of a cell that the mask does not allow.

A cell's text is ``{queries[row]} \u2192 {keys[column]}: {before}{number}``. The texts belong into `customdata`,
[row][column], of each heatmap whose `meta` is "words", for the cells where its z is finite; its hovertemplate shows
them. The heatmap whose name is `forbidden` says ``{queries[row]} \u2192 {keys[column]}: {forbidden}`` instead.
`offline.FILL_IN_WORDS` does so.

**Blocks.** Where cells stand for several places, `layout.meta["blocks"]` has `queries` and `keys`: where each row and
column begins, and where the last one ends, as places in the whole text.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float, Int

from headlight.figures.hues import DIVIDER, NOT_FINITE, WARM
from headlight.figures.layout import HOVER, border_line, frame_around, hover
from headlight.figures.quantities import BELOW
from headlight.figures.theme import KEY, QUERY
from headlight.figures.token_axes import Places
from transformer_core.errors import mark
from transformer_core.language import say

MOST_TOLD = 64 * 64  # cells up to which each has its text with it
NUMBERS_UP_TO = 24  # tokens a side up to which the values are written into the cells, where these are large enough
FORBIDDEN = mark("masked")
BROKEN = mark("not finite (NaN or ∞)")


class Words(NamedTuple):
    """What hovering over the cells tells."""

    traces: dict[str, Any]  # a part of each heatmap
    meta: dict[str, Any]  # a part of the layout's


def words(
    queries: Places,
    keys: Places,
    allowed: Bool[np.ndarray, "query key"],
    *,
    numbers: Callable[[], Sequence[Sequence[str]]],
    before: str,
    form: str,
    is_power: bool = False,
    between: str = ": ",
    broken: Bool[np.ndarray, "query key"] | None = None,
) -> Words:
    """Return the words of all cells, or what the browser needs to find them.

    Args:
        queries: the rows.
        keys: the columns.
        allowed: False = the mask does not allow the cell.
        numbers: gives each cell's number in words, with what stands before it.
        before: what the browser puts before a number.
        form: its format in the browser.
        is_power: whether the browser sees powers of ten.
        between: what stands between the names of the cell and `numbers`.
        broken: the cells that are NaN or infinite; None: none.
    """
    if allowed.size > MOST_TOLD:
        fields = {"queries": queries.words, "keys": keys.words, "before": before, "format": form, "power": is_power}
        traces = {"meta": "words", "hovertemplate": HOVER, "hoverongaps": False}
        if is_power:
            fields["below"] = say(BELOW)
        return Words(traces, {"words": fields | {"forbidden": say(FORBIDDEN)}})
    rows = [
        [f"{query} \u2192 {key}{between}{number}" for key, number in zip(keys.words, row, strict=True)]
        for query, row in zip(queries.words, numbers(), strict=True)
    ]
    for cells, said in ((broken, BROKEN), (~allowed, FORBIDDEN)):
        for row, column in [] if cells is None else np.argwhere(cells).tolist():
            rows[row][column] = f"{queries.words[row]} \u2192 {keys.words[column]}: {say(said)}"
    texts = np.array(rows, dtype=object)  # plotly takes twice as long over lists
    return Words(hover(texts) | {"hoverongaps": False}, {})


def cell_traces(
    values: Float[np.ndarray, "query key"],
    queries: Places,
    keys: Places,
    allowed: Bool[np.ndarray, "query key"],
    *,
    name: str,
    color_axis: str,
    hover_words: Words,
) -> list[go.Heatmap | go.Scatter]:
    """Return the cells with values and, before them, those that the mask does not allow: neutral, not zeros.

    Those that it allows and that are NaN or infinite have a color of their own.
    """
    where = keys.coordinates("x") | queries.coordinates("y")
    gap = 1 if max(values.shape) <= 32 else 0
    broken = allowed & ~np.isfinite(values)
    z = np.where(allowed & ~broken, values, np.nan).astype(np.float32)
    traces = [go.Heatmap(name=name, z=z, coloraxis=color_axis, xgap=gap, ygap=gap, **where, **hover_words.traces)]
    if not allowed.all():
        blank = np.where(allowed, np.nan, 0.0).astype(np.float32)
        traces.insert(
            0, go.Heatmap(name=say(FORBIDDEN), z=blank, coloraxis="coloraxis2", **where, **hover_words.traces)
        )
    if broken.any():
        traces.insert(0, broken_cells(broken, xgap=gap, ygap=gap, **where, **hover_words.traces))
        scale = {"color": [0], "coloraxis": color_axis}  # plotly draws none beside cells without a number
        traces.append(go.Scatter(x=[None], y=[None], mode="markers", marker=scale, showlegend=False, hoverinfo="skip"))
    return traces


def broken_cells(broken: Bool[np.ndarray, "query key"], **options: Any) -> go.Heatmap:
    """Return the cells that are NaN or infinite, in their own color; a large figure says the same of each."""
    if options.get("meta") == "words":
        options |= {"meta": None, "hovertemplate": f"{say(BROKEN)}<extra></extra>"}
    z = np.where(broken, 0.0, np.nan).astype(np.float32)
    color = [[0, NOT_FINITE], [1, NOT_FINITE]]
    return go.Heatmap(name=say(BROKEN), z=z, colorscale=color, showscale=False, **options)


def number_traces(
    x: Int[np.ndarray, " cell"],
    y: Int[np.ndarray, " cell"],
    texts: Sequence[str],
    is_deep: Bool[np.ndarray, " cell"],
    **axes: str,
) -> list[go.Scatter]:
    """Return the numbers to write into cells: those on pale cells, then those on deep cells, as the template has them.

    Args:
        x: where each cell lies.
        y: the same.
        texts: the numbers; "" where none is written.
        is_deep: whether a cell's color is nearer to the deep end of its scale.
        axes: `xaxis` and `yaxis`, where they are not the figure's first.
    """
    is_written = np.array([bool(text) for text in texts], dtype=bool)
    traces = []
    for name, chosen in (("numbers on pale cells", ~is_deep), ("numbers on deep cells", is_deep)):
        places = np.flatnonzero(chosen & is_written)
        traces.append(
            go.Scatter(
                name=name,
                x=x[places],
                y=y[places],
                text=[texts[place] for place in places.tolist()],
                mode="text",
                hoverinfo="skip",
                showlegend=False,
                **axes,
            )
        )
    return traces


def outlines(
    queries: Places,
    keys: Places,
    marked: tuple[int | None, int | None],
    hue: str = WARM,
    *,
    group: Iterable[tuple[int, int]] = (),
    generated_from: int | None = None,
) -> dict[str, Any]:
    """Return thin frames around a row, a column and their cell, as a part of the layout; empty without any.

    Where the rows or the columns are two texts, there is a line between them.

    Args:
        queries: the rows.
        keys: the columns.
        marked: a query and a key, as places in the whole text; None: not marked. What is not seen has no frame.
        hue: of the frame around the cell.
        group: cells that have a frame, too, each a query and a key.
        generated_from: the place before whose row and column a dotted line is drawn, too.
    """
    row, column = queries.around(marked[0]), keys.around(marked[1])
    cells = [(keys.around(key), queries.around(query)) for query, key in group]
    shapes = [
        *([] if row is None else [frame_around(keys.ends, row, color=QUERY, width=1.5)]),
        *([] if column is None else [frame_around(column, queries.ends, color=KEY, width=1.5)]),
        *([] if row is None or column is None else [frame_around(column, row, color=hue, width=3)]),
        *(frame_around(across, down, color=hue, width=3) for across, down in cells if across and down),
        *_dividers(queries, keys, generated_from),
        *_borders(queries, keys),
    ]
    return {"shapes": shapes} if shapes else {}


def _borders(queries: Places, keys: Places) -> list[dict[str, Any]]:
    """Return the lines between two texts."""
    (left, right), (top, bottom) = keys.ends, queries.ends
    x, y = keys.border, queries.border
    across = [] if y is None else [border_line({"x0": left, "x1": right, "y0": y, "y1": y})]
    return across + ([] if x is None else [border_line({"x0": x, "x1": x, "y0": top, "y1": bottom})])


def _dividers(queries: Places, keys: Places, generated_from: int | None) -> list[dict[str, Any]]:
    """Return dotted lines between the text and what the model wrote, and the word for it where the mask leaves room."""
    row, column = queries.around(generated_from), keys.around(generated_from)
    look = {"type": "line", "line": {"color": DIVIDER, "width": 1.5, "dash": "dot"}}
    label = {"text": say("generated"), "textposition": "start", "textangle": 0, "xanchor": "left", "yanchor": "top"}
    (left, right), (top, bottom) = keys.ends, queries.ends
    return [
        *([] if row is None else [look | {"x0": left, "x1": right, "y0": row[0], "y1": row[0]}]),
        *(
            []
            if column is None
            else [
                look
                | {"x0": column[0], "x1": column[0], "y0": top, "y1": bottom}
                | {"label": label | {"font": {"size": 12, "color": DIVIDER}, "padding": 5}}
            ]
        ),
    ]
