"""The table of an encoding: a row for each position, a column for each of its numbers."""

from typing import TYPE_CHECKING

import numpy as np

from headlight.analysis.heads.table import matrix_csv
from headlight.figures.heatmaps.position_matrix import Side, position_matrix
from pages.learn.positions.data import TERMS, PositionsData, in_words
from pages.learn.positions.drawing import draw
from pages.shared import prose
from pages.shared.glossary.links import definitions
from transformer_core.errors import mark
from transformer_core.language import say

if TYPE_CHECKING:
    from headlight.analysis.positions.tables import Column

LOOK = {
    "sinusoidal_halves": mark(
        "sines on the left, cosines on the right, so the plot splits in the middle. In each half, the frequency falls "
        "from left to right: the first columns change at every position, the last hardly at all."
    ),
    "sinusoidal_interleaved": mark(
        "sines and cosines alternate. The first columns change at every position, the last hardly at all, like the "
        "digits of a number; no two rows are the same."
    ),
    "learned": mark(
        "no structure is built in, but neighbouring rows may have become similar. The last rows, rarely reached in "
        "training, often look different."
    ),
    "rotary": mark(
        "sines and cosines of the angles by which queries and keys are rotated: the same numbers as in a sinusoidal "
        "table, but multiplied instead of added."
    ),
}
LEAST_HEIGHT, MOST_HEIGHT, ROW = 330, 600, 16  # px


def show(data: PositionsData) -> None:
    """Draw the table, and say what to look for."""
    table = data.table
    n, width = table.values.shape
    columns = Side(
        title=say("dimension"),
        words=[_in_words(place, table.columns) for place in range(width)],
        ticks=[_tick(column) for column in table.columns] if table.columns and width <= 16 else None,
    )
    title = say("{encoding}: {n} positions, {width} dimensions", encoding=in_words(data.encoding), n=n, width=width)
    if data.encoding == "learned":
        title = say("{title}, of the {stack}", title=title, stack=say(STACKS[data.stack]))
    figure = position_matrix(
        table.values,
        Side(title=say("position"), words=[say("position {position}", position=place) for place in range(n)]),
        columns,
        title=title,
        limits=(-1.0, 1.0) if table.columns else None,
        decimals=4,
        cut=width // 2 if table.columns and data.encoding.endswith("halves") and width > 2 else None,
        width=900,
        height=min(max(120 + ROW * n, LEAST_HEIGHT), MOST_HEIGHT),
    )
    draw(
        data,
        figure,
        name="table",
        csv=lambda: matrix_csv(table.values, "position", range(n), "dimension", range(width), "value"),
        arrays=lambda: {"table": table.values, "denominators": np.array([one.denominator for one in table.columns])},
    )
    prose.look_for(say(LOOK.get(data.encoding, LOOK["rotary"])), definitions(TERMS[data.encoding]))


STACKS = {"encoder": mark("encoder"), "decoder": mark("decoder")}


def _in_words(place: int, columns: "tuple[Column, ...]") -> str:
    """Return a column in a hover text."""
    if not columns:
        return say("dimension {dimension}", dimension=place)
    column = columns[place]
    return say(
        "dimension {dimension}, {function}(position / {denominator})",
        dimension=place,
        function=column.function,
        denominator=denominator(column),
    )


def _tick(column: "Column") -> str:
    """Return the header of a column of a small table."""
    return f"{column.function}\n÷ {denominator(column)}"


def denominator(column: "Column") -> str:
    """Return the divisor of the position, with six digits."""
    return f"{column.denominator:#.6g}".removesuffix(".")
