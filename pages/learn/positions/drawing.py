"""Drawing of matrices and curves for the parts of the Positions page, and the code of each part."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from headlight.analysis.heads.table import matrix_csv
from headlight.figures import Figure, head_grid
from headlight.figures.curves.lines import Line, line_figure
from headlight.figures.heatmaps.position_matrix import MatrixAxis, position_matrix
from headlight.figures.theme import KEY, QUERY
from headlight.language import say
from pages.components import figures
from pages.learn.positions import view_fields
from pages.learn.positions.data import PositionsData, by_distance
from pages.shared.drawing import draw_figure
from pages.shared.recipe import Lines, Print, call, each, script, value_of
from pages.shared.view import state

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

WAVES = """
for column in table.columns:
    print(column.function, column.pair, "wavelength", column.wavelength)
"""
PARTS = """
for name, part in found.parts.items():
    print(name, found.shares()[name], part)  # [query, key]
"""


def side_by_side(key: str) -> "tuple[DeltaGenerator, DeltaGenerator]":
    """Return two columns, stacked in a narrow window by the style sheet of this key."""
    with st.container(key=key):
        left, right = st.columns(2, gap="medium")
    return left, right


def positions(n: int) -> MatrixAxis:
    """Return the labels of n positions."""
    return MatrixAxis(title=say("position"), words=[say("position {position}", position=place) for place in range(n)])


def query_and_key(n: int) -> tuple[MatrixAxis, MatrixAxis]:
    """Return the labels of n queries, the rows, and of n keys, the columns."""
    queries = [say("query at {position}", position=place) for place in range(n)]
    keys = [say("key at {position}", position=place) for place in range(n)]
    rows = MatrixAxis(title=say("query position"), words=queries, hue=QUERY)
    return rows, MatrixAxis(title=say("key position"), words=keys, hue=KEY)


def draw(data: PositionsData, figure: Figure, *, name: str, **options: Any) -> None:
    """Draw a figure of this name on the page; `options`: as for `draw_figure`."""
    draw_figure(
        figure,
        name=f"positions-{data.encoding.replace('_', '-')}-{name}",
        key=f"positions-figure-{name}",
        code=partial(lines_of, data),
        model=data.card.path,
        **options,
    )


def draw_heads(data: PositionsData, values: np.ndarray, *, name: str, **options: Any) -> None:
    """Draw a number from -1 to 1 for each head [layer, head]; a click chooses one. `options`: as for `head_grid`."""
    n_layers, n_heads = values.shape
    chosen, key = (data.view.layer, data.view.head), f"positions-figure-{name}"

    def choose() -> None:
        cell = figures.sent_cell(key)
        if cell is not None and cell[0] < n_layers and cell[1] < n_heads:
            state.SHOWN_HEAD.set(data.view.attention, *cell)

    draw(
        data,
        head_grid(values, limits=(-1.0, 1.0), diverging=True, chosen=chosen, **options),
        name=name,
        csv=lambda: matrix_csv(values, "layer", range(n_layers), "head", range(n_heads), name),
        arrays=lambda: {name: values},
        cell=chosen,
        on_cell=choose,
    )


def draw_matrix(
    data: PositionsData,
    values: np.ndarray,
    rows: MatrixAxis,
    columns: MatrixAxis,
    *,
    name: str,
    axes: tuple[str, str],
    quantity: str,
    array: str,
    whole: np.ndarray | None = None,
    **options: Any,
) -> None:
    """Draw a matrix [row, column].

    Args:
        data: of the page.
        values: the numbers that are drawn.
        rows: labels of the rows.
        columns: labels of the columns.
        name: of the figure on the page.
        axes: names of rows and columns in the saved table.
        quantity: name of the numbers there.
        array: name of the saved array.
        whole: the matrix that is saved, if only a part of it is drawn.
        options: as for `position_matrix`.
    """
    taken = values if whole is None else whole
    row_axis, column_axis = axes
    draw(
        data,
        position_matrix(values, rows, columns, **options),
        name=name,
        csv=lambda: matrix_csv(taken, row_axis, range(taken.shape[0]), column_axis, range(taken.shape[1]), quantity),
        arrays=lambda: {array: taken},
    )


def draw_curves(
    data: PositionsData,
    places: np.ndarray,
    lines: Sequence[Line],
    *,
    name: str,
    axis: str,
    arrays: Mapping[str, np.ndarray],
    columns: Sequence[str],
    quantity: str,
    **options: Any,
) -> None:
    """Draw curves over positions or distances.

    Args:
        data: of the page.
        places: positions or distances, in increasing order.
        lines: the curves.
        name: of the figure on the page.
        axis: name of the places in the saved table.
        arrays: the saved arrays, by name.
        columns: names of the arrays in the saved table, which have one value per place.
        quantity: name of the numbers there.
        options: as for `line_figure`.
    """
    draw(
        data,
        line_figure(places, lines, **options),
        name=name,
        csv=lambda: matrix_csv(
            np.stack([arrays[column] for column in columns], axis=1), axis, places.tolist(), "of", columns, quantity
        ),
        arrays=lambda: arrays,
    )


def lines_of(data: PositionsData) -> str:
    """Return the code that computes the numbers of the shown part."""
    match data.part:
        case "model":
            return script(*(_shuffled(data) if view_fields.IN_MODEL.value == "shuffle" else _parts(data)))
        case "bias":
            return script(*_bias(data))
        case "dials":
            result = data.dials
            return script(
                Print(result.speeds, "radians per position [pair]"),
                Print(result.products(call(np.arange, 1 - data.n, data.n)), "[distance]"),
            )
        case "products":
            result = data.products
            axes = "[query, key]" if data.is_rotary else "[pos, pos]"
            return script(Print(result, axes), Print(by_distance(result).mean, "[distance]"))
        case "shift":
            result = data.shifted
            left = (result.turned.max(), result.unturned.max())
            apart = result.turned, result.unturned
            return script(
                Print(result.matrix, "R, [width, width]"), Print(apart, "[pos]"), Print(left, "with R and without")
            )
    result = data.table_recipe
    denominators = each("column", result.columns, lambda column: column.denominator)
    lines = [Lines(WAVES, (result,))] if data.part == "waves" else [Print(denominators, "[width]")]
    return script(*lines, Print(result.values, "[pos, width]"))


def _parts(data: PositionsData) -> list[Print | Lines]:
    result, of_heads = data.score_parts, data.shares_of_heads
    heads = [Print(of_heads, "share of positions, [layer, head]")] if value_of(of_heads) is not None else []
    return [Lines(PARTS, (result,)), Print(result.scores, "[query, key]"), Print(result.error), *heads]


def _shuffled(data: PositionsData) -> list[Print | Lines]:
    result = data.shuffled
    return [
        Print((result.text, result.output)),
        Print(result.order, "[pos]"),
        *(Print(of[data.view.layer, data.view.head], "[query, key]") for of in (result.own, result.shuffled)),
        Print(result.follows, "[layer, head]"),
    ]


def _bias(data: PositionsData) -> list[Print | Lines]:
    from headlight.analysis.positions.relative import alibi_by_distance, alibi_matrix, slopes

    head = view_fields.BIAS_HEAD.value
    if data.encoding == "alibi":
        n = data.n_heads
        return [
            Print(call(slopes, n, *data.alibi_scale), "[head]"),
            Print(call(alibi_by_distance, n, data.n, *data.alibi_scale), "[head, distance]"),
            Print(call(alibi_matrix, n, min(head, n - 1), data.n, *data.alibi_scale), "[query, key]"),
        ]
    if not data.is_own:
        result = data.buckets
        return [Print((result.distance, result.bucket), "[distance]"), Print(result.matrix, "[query, key]")]
    result = data.learned_bias
    return [
        Print((result.distance, result.by_distance), "[head, distance]"),
        Print(result.matrix[min(head, data.card.config.n_heads - 1)], "[query, key]"),
    ]
