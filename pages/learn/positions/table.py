"""The table of an encoding as a matrix [position, dimension], and each dimension as a wave with its wavelength."""

import math
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from headlight.analysis.heads.table import matrix_csv
from headlight.figures.curves.lines import Line, line_figure
from headlight.figures.heatmaps.position_matrix import MatrixAxis, position_matrix
from headlight.figures.theme import STRONG, WARM, category_hues
from headlight.language import localized, say
from pages.learn.positions import view_fields
from pages.learn.positions.data import TERMS, PositionsData, in_words
from pages.learn.positions.drawing import draw, positions
from pages.shared import prose
from pages.shared.glossary.links import definitions
from transformer_core.errors import mark

if TYPE_CHECKING:
    from headlight.analysis.positions.tables import Column, PositionTable

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
STACKS = {"encoder": mark("encoder"), "decoder": mark("decoder")}
HEIGHT = 360  # px
LOOK_WAVES = mark(
    "each sine–cosine pair is like a clock hand. Wavelengths grow geometrically from 2π positions to nearly 2π times "
    "the base (a straight line on the log axis): fast pairs distinguish neighbouring positions, slow pairs the "
    "beginning from the end."
)
LOOK_LEARNED = mark(
    "these values are learned freely. Where a curve is smooth, training made neighbouring positions similar; where it "
    "is jagged, each position has its own signature."
)


def show(data: PositionsData) -> None:
    """Draw the table and the hint on what to look for."""
    table = data.table
    n, width = table.values.shape
    columns = MatrixAxis(
        title=say("dimension"),
        words=[_in_words(place, table.columns) for place in range(width)],
        ticks=[f"{one.function}\n÷ {denominator(one)}" for one in table.columns]
        if table.columns and width <= 16
        else None,
    )
    title = say("{encoding}: {n} positions, {width} dimensions", encoding=in_words(data.encoding), n=n, width=width)
    if data.encoding == "learned":
        title = say("{title}, of the {stack}", title=title, stack=say(STACKS[data.stack]))
    figure = position_matrix(
        table.values,
        positions(n),
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


def _in_words(place: int, columns: "tuple[Column, ...]") -> str:
    if not columns:
        return say("dimension {dimension}", dimension=place)
    column = columns[place]
    return say(
        "dimension {dimension}, {function}(position / {denominator})",
        dimension=place,
        function=column.function,
        denominator=denominator(column),
    )


def denominator(column: "Column") -> str:
    """Return the divisor of the position, with six digits."""
    return f"{column.denominator:#.6g}".removesuffix(".")


def waves(data: PositionsData) -> None:
    """Draw some of the waves, and all wavelengths."""
    table = data.table
    dimensions = _dimensions(table)
    with st.container(key="hl-positions-waves"):
        left, right = st.columns([3, 2] if table.columns else [1, 0.001], gap="medium")
    with left:
        view_fields.DIMENSIONS.multiselect(
            say("Dimensions"),
            range(table.values.shape[1]),
            name=lambda place: _name(place, table),
            max_selections=view_fields.MOST_DIMENSIONS,
            placeholder=say("choose dimensions"),
            shown=list(dimensions),
            take=lambda chosen: view_fields.DIMENSIONS.set(tuple(chosen) or None),
        )
        _waves(data, table, dimensions)
    if table.columns:
        with right:
            _wavelengths(data, table)
    prose.look_for(say(LOOK_WAVES if table.columns else LOOK_LEARNED), definitions(TERMS[data.encoding]))


def _dimensions(table: "PositionTable") -> tuple[int, ...]:
    """Return the dimensions whose waves are drawn: the existing chosen ones, or a spread over all frequencies."""
    from headlight.analysis.positions.tables import spread_dimensions

    width = table.values.shape[1]
    chosen = tuple(place for place in view_fields.DIMENSIONS.value or () if place < width)
    return chosen or spread_dimensions(table)


def _name(place: int, table: "PositionTable") -> str:
    if not table.columns:
        return str(place)
    column = table.columns[place]
    return f"{place}: {column.function}, λ {localized(column.wavelength, ',.1f')}"


def _waves(data: PositionsData, table: "PositionTable", dimensions: tuple[int, ...]) -> None:
    n, words = len(table.values), say("position {x}: {y}")
    lines = [
        Line(name=_name(place, table), values=table.values[:, place], hue=hue, words=f"{_name(place, table)}, {words}")
        for place, hue in zip(dimensions, category_hues(len(dimensions)), strict=True)
    ]
    figure = line_figure(
        np.arange(n),
        lines,
        title=say("Values of selected dimensions by position"),
        x_title=say("position"),
        y_title=say("value"),
        y_range=(-1.08, 1.08) if table.columns else None,
        y_format=".4f",
        width=720,
        height=HEIGHT,
    )
    chosen = table.values[:, list(dimensions)]
    draw(
        data,
        figure,
        name="waves",
        csv=lambda: matrix_csv(chosen, "position", range(n), "dimension", dimensions, "value"),
        arrays=lambda: {"values": chosen, "dimensions": np.array(dimensions)},
    )


def _wavelengths(data: PositionsData, table: "PositionTable") -> None:
    width = len(table.columns)
    wavelengths = np.array([column.wavelength for column in table.columns])
    base = data.base
    levels = {"2π": math.tau, f"{localized(2 * base, ',.0f')}π": math.tau * base}
    words = say("dimension {x}: wavelength {y} positions")
    if data.encoding.endswith("halves"):  # wavelengths increase within each half
        sines = np.arange(width) < width // 2
        lines = [
            Line(name=name, values=np.where(is_there, wavelengths, np.nan), hue=hue, words=words)
            for name, is_there, hue in ((say("sines"), sines, STRONG), (say("cosines"), ~sines, WARM))
        ]
    else:
        lines = [Line(name="", values=wavelengths, words=words)]
    figure = line_figure(
        np.arange(width),
        lines,
        title=say("Wavelength by dimension"),
        x_title=say("dimension"),
        y_title=say("wavelength (positions)"),
        is_log=True,
        levels=levels,
        y_format=",.1f",
        width=480,
        height=HEIGHT + 72,
    )
    draw(
        data,
        figure,
        name="wavelengths",
        csv=lambda: matrix_csv(wavelengths[:, None], "dimension", range(width), "of", ["wavelength"], "positions"),
        arrays=lambda: {"wavelengths": wavelengths},
    )
