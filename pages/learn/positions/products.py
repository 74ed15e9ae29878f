"""Dot products of positions, their decay with distance, and the rotation that shifts positions."""

import numpy as np

from headlight.figures.curves.lines import Line
from headlight.figures.heatmaps.position_matrix import MatrixAxis
from headlight.figures.theme import FAINT, STRONG
from headlight.language import localized, say
from pages.learn.positions import view_fields
from pages.learn.positions.data import TERMS, PositionsData, by_distance
from pages.learn.positions.drawing import draw_curves, draw_matrix, positions, query_and_key, side_by_side
from pages.shared import prose
from pages.shared.glossary.links import definitions
from pages.shared.recipe import value_of
from transformer_core.errors import mark

HEIGHT = 440  # px
MOST_DRAWN = 32  # dimensions shown of a shift matrix
LOOK = {
    "sinusoidal": mark(
        "values are constant along each diagonal: the dot product depends only on the distance and tends to fall with "
        "it. On the main diagonal it is d/2, because sin² + cos² = 1 in each pair."
    ),
    "learned": mark(
        "the more uniform the diagonals, the more the training has learned about distances. The band around the curve "
        "spans the smallest to the largest product at each distance."
    ),
    "rotary": mark(
        "one vector, rotated to the query’s and to the key’s position: their dot product depends only on the distance "
        "and falls with it. The ripples come from the fast pairs, which have completed full turns."
    ),
}
LOOK_SHIFT = mark(
    "the matrix depends on the shift, not on the position: the same rotations map every row to the row k positions "
    "later. The remaining difference, about 1e-7, is rounding."
)


def show(data: PositionsData) -> None:
    """Draw all dot products, and beside them their decay with distance."""
    recipe = data.products
    products, result = value_of((recipe, by_distance(recipe)))
    n = len(products)
    left, right = side_by_side("hl-positions-products")
    sides = query_and_key(n) if data.is_rotary else (positions(n),) * 2
    with left:
        draw_matrix(
            data,
            products,
            *sides,
            name="products",
            axes=("position", "other"),
            quantity="product",
            array="products",
            title=say("Dot products of position vectors"),
            what=say("dot product"),
            has_numbers=n <= 12,
            decimals=2,
            width=600,
            height=HEIGHT,
        )
    hover = say("distance {x}: mean {y}")
    with right:
        draw_curves(
            data,
            np.arange(n),
            [Line(name="", values=result.mean, low=result.least, high=result.most, words=hover)],
            name="decay",
            axis="distance",
            arrays={"mean": result.mean, "least": result.least, "most": result.most},
            columns=("mean", "least", "most"),
            quantity="product",
            title=say("Dot product by distance"),
            x_title=say("distance in positions"),
            y_title=say("dot product"),
            height=HEIGHT,
        )
    spread = localized(result.spread, ".2g")
    prose.small(say("The largest difference between two products at the same distance is {spread}.", spread=spread))
    prose.look_for(
        say(LOOK["rotary" if data.is_rotary else data.encoding.split("_")[0]]), definitions(TERMS[data.encoding])
    )


def show_shift(data: PositionsData) -> None:
    """Draw the matrix that shifts every position by k, and its residual."""
    n, k = len(data.table.values), data.shift
    if n > 2:
        view_fields.SHIFT.slider(say("Shift k (positions)"), 1, n - 1, width=420, shown=k)
    result = value_of(data.shifted)
    left, right = side_by_side("hl-positions-shift")
    with left:
        _matrix(data, result.matrix, k)
    with right:
        _residual(data, result.turned, result.unturned, k)
    largest = say(
        "|PE(pos + {k}) − R PE(pos)| is at most {turned} at all {n} positions; without R it is up to {unturned}.",
        k=k,
        n=len(result.turned),
        turned=localized(result.turned.max(), ".1e"),
        unturned=localized(result.unturned.max(), ".2f"),
    )
    prose.html("<p class='hl-facts'>{}</p>", largest)
    prose.look_for(say(LOOK_SHIFT), definitions(TERMS[data.encoding]))


def _matrix(data: PositionsData, matrix: np.ndarray, k: int) -> None:
    """Draw the matrix; if it is wide, only its first pairs."""
    width = len(matrix)
    drawn = [place for place, column in enumerate(data.table.columns) if column.pair in range(MOST_DRAWN // 2)]
    seen = matrix[np.ix_(drawn, drawn)]
    words = [say("dimension {dimension}", dimension=place) for place in drawn]
    ticks = [str(place) for place in drawn]
    title = say("R for k = {k}: a rotation of each pair", k=k)
    if len(drawn) < width:
        title = say("{title}: the fastest {n} of {all} pairs", title=title, n=len(drawn) // 2, all=width // 2)
    draw_matrix(
        data,
        seen,
        MatrixAxis(title=say("dimension at pos + k"), words=words, ticks=ticks),
        MatrixAxis(title=say("dimension at pos"), words=words, ticks=ticks),
        name="shift",
        axes=("to", "from"),
        quantity="value",
        array="matrix",
        whole=matrix,
        title=title,
        limits=(-1.0, 1.0),
        has_numbers=len(drawn) <= 16,
        width=560,
        height=HEIGHT,
    )


def _residual(data: PositionsData, turned: np.ndarray, unturned: np.ndarray, k: int) -> None:
    floor = np.finfo(np.float32).eps / 64  # a log axis cannot show an exact 0
    draw_curves(
        data,
        np.arange(len(turned)),
        [
            Line(name=say("without rotation"), values=np.maximum(unturned, floor), hue=FAINT),
            Line(name=say("after rotation"), values=np.maximum(turned, floor), hue=STRONG),
        ],
        name="residual",
        axis="position",
        arrays={"turned": turned, "unturned": unturned, "k": np.array(k)},
        columns=("turned", "unturned"),
        quantity="difference",
        title=say("Maximum difference from the row k positions later"),
        x_title=say("position"),
        y_title=say("difference"),
        is_log=True,
        y_format=".1e",
        height=HEIGHT,
    )
