"""How the parts of the Positions page draw what they have alike: matrices, curves, and what to look for in them."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from headlight.analysis.heads.table import matrix_csv
from headlight.figures import Figure
from headlight.figures.curves.lines import Line, line_figure
from headlight.figures.heatmaps.position_matrix import Side, position_matrix
from pages.components import figures
from pages.learn.positions.data import PositionsData
from pages.learn.positions.recipes import lines_of
from pages.shared import export
from pages.shared.view import state

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator


def side_by_side(key: str) -> "tuple[DeltaGenerator, DeltaGenerator]":
    """Return two columns; where the window is narrow, the style sheet of this key puts one below the other."""
    with st.container(key=key):
        left, right = st.columns(2, gap="medium")
    return left, right


def draw(
    data: PositionsData,
    figure: Figure,
    *,
    name: str,
    csv: Callable[[], str],
    arrays: Callable[[], Mapping[str, np.ndarray]],
    **options: Any,
) -> None:
    """Draw a figure with its menu to take it away.

    Args:
        data: what is seen.
        figure: what is drawn.
        name: of the figure on this page, which is also its place.
        csv: gives its numbers as a table.
        arrays: gives them by name.
        options: as `live_figure` has them.
    """
    file = f"positions-{data.encoding.replace('_', '-')}-{name}"
    figures.live_figure(
        figure,
        name=file,
        key=f"positions-figure-{name}",
        height=int(figure.layout.height),
        files=lambda: export.files(
            name=file,
            csv=csv,
            arrays=arrays,
            code=lines_of(data),
            state=state.in_words(),
            model=data.card.path,
        ),
        **options,
    )


def draw_heads(data: PositionsData, figure: Figure, *, name: str, values: np.ndarray) -> None:
    """Draw a number for each head [layer, head]; a click chooses one. Arguments as for `draw`."""
    n_layers, n_heads = values.shape
    key = f"positions-figure-{name}"

    def choose() -> None:
        cell = figures.sent_cell(key)
        if cell is not None and cell[0] < n_layers and cell[1] < n_heads:
            state.choose_head(data.view.attention, *cell)

    draw(
        data,
        figure,
        name=name,
        csv=lambda: matrix_csv(values, "layer", range(n_layers), "head", range(n_heads), name),
        arrays=lambda: {name: values},
        cell=(data.view.layer, data.view.head),
        on_cell=choose,
    )


def draw_matrix(
    data: PositionsData,
    values: np.ndarray,
    rows: Side,
    columns: Side,
    *,
    name: str,
    axes: tuple[str, str],
    quantity: str,
    array: str,
    whole: np.ndarray | None = None,
    **options: Any,
) -> None:
    """Draw a matrix, which can be taken away.

    Args:
        data: what is seen.
        values: the numbers that are drawn [row, column].
        rows: what the rows are.
        columns: what the columns are.
        name: of the figure on this page.
        axes: what rows and columns are, in the table that is taken away.
        quantity: what the numbers are there.
        array: what they are among the arrays.
        whole: what is taken away, where only a part of it is drawn.
        options: as `position_matrix` has them.
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
    """Draw curves over positions or distances, whose numbers can be taken away.

    Args:
        data: what is seen.
        places: positions or distances, rising.
        lines: the curves.
        name: of the figure on this page.
        axis: what the places are, in the table that is taken away.
        arrays: what is taken away by name.
        columns: which of these arrays have a number for each place and are in the table.
        quantity: what the numbers are there.
        options: as `line_figure` has them.
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
