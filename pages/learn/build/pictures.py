"""The result of the learner's line beside what is expected, in the same colors."""

from math import prod

import numpy as np
import streamlit as st

from headlight.analysis.heads.table import matrix_csv
from headlight.figures import TokenGrid
from headlight.figures.heatmaps.number_panels import number_panels
from headlight.language import say
from pages.learn.build.data import BuildData
from pages.learn.build.engine.judging import judge
from pages.shared import prose
from pages.shared.drawing import draw, looks
from pages.shared.recipe import Expression, Print, call, through
from transformer_core.errors import mark

SHARES = ("weights", "pattern")  # from 0 to 1; all else has both signs
AXES = {  # what a row or a column is
    "query": mark("query"),
    "key": mark("key"),
    "d_head": mark("dimension of the head"),
    "head d_head": mark("dimension of the concatenated heads"),
    "d_model": mark("dimension"),
}
EMPTY = mark("The result of your line will be drawn here.")
NO_PICTURE = mark("A result with {n} dimensions is not drawn.")
NOT_DRAWN = mark("A result with {n:,} numbers is not drawn.")
MOST_AXES = 3  # of a result that is drawn
MOST_CELLS = 20_000  # of a picture whose shape is not the expected one
HEIGHT = 320  # px of a picture
WIDTH = 430  # px that it is laid out for


def show(data: BuildData) -> None:
    """Draw both pictures; in a narrow window one below the other."""
    verdict, name = data.verdicts[data.place], data.step.name
    result = None if verdict is None else verdict.result
    with st.container(key="hl-build-pictures"):
        yours, right = st.columns(2, gap="small")
    with yours:
        if result is None:
            prose.html("<p class='hl-build-empty'>{}</p>", say(EMPTY))
        elif result.ndim > MOST_AXES:
            prose.html("<p class='hl-build-empty'>{}</p>", say(NO_PICTURE, n=result.ndim))
        elif result.shape != data.bench.expected[name].shape and not 0 < _n_cells(result) <= MOST_CELLS:
            prose.html("<p class='hl-build-empty'>{}</p>", say(NOT_DRAWN, n=result.size))
        else:
            judged = call(judge, data.bench_recipe, data.place, data.lines[data.place])
            line = through(judged, lambda _: verdict)
            _picture(data, line.result, result, say("Your {name}", name=name), "build-yours")
    with right:
        expected = data.bench_recipe.expected[name]
        _picture(data, expected, data.bench.expected[name], say("Expected {name}", name=name), "build-expected")


def _n_cells(values: np.ndarray) -> int:
    """Return how many cells the picture of an array has: of several heads, one is drawn."""
    return values.size if values.ndim <= 2 else prod(values.shape[1:]) if len(values) else 0


def _picture(data: BuildData, recipe: Expression, values: np.ndarray, title: str, key: str) -> None:
    """Draw an array: of all heads the one in which the result differs most, or the chosen one."""
    step, verdict = data.step, data.verdicts[data.place]
    expected = data.bench.expected[step.name]
    index = verdict.cell.index if verdict and verdict.cell else None
    is_as_expected = values.shape == expected.shape
    if values.ndim > 2:
        head = min(index[0] if index else data.bench.head, len(values) - 1)
        values, title = values[head], say("{title}, head {head}", title=title, head=head)
        recipe = recipe[head]
    table, shown = np.atleast_2d(values), call(np.atleast_2d, recipe)
    axes = step.axes[-2:]
    sides = {"query": data.labels[0], "key": data.labels[1]}
    rows, columns = (
        sides.get(axis, ()) if is_as_expected or len(sides.get(axis, ())) == n else ()
        for axis, n in zip(axes, table.shape, strict=True)
    )
    names = [
        say(AXES[axis]) if is_as_expected else say("row") if place == 0 else say("column")
        for place, axis in enumerate(axes)
    ]
    top = float(np.abs(expected[np.isfinite(expected)]).max(initial=0)) or 1.0
    is_share = step.name in SHARES
    draw(
        call(
            number_panels,
            {"": shown},
            call(
                TokenGrid,
                rows,
                columns,
                query_name=names[0],
                key_name=names[1],
                marked=(index[-2], index[-1]) if index else (None, None),
                **looks(WIDTH, HEIGHT),
            ),
            title=title,
            diverging=not is_share,
            limits=(0.0, 1.0) if is_share else (-top, top),
        ),
        Print(shown, f"[{', '.join(axes)}]"),
        title=title,
        name=data.file_name(key),
        key=key,
        csv=lambda: matrix_csv(
            table, names[0], rows or range(len(table)), names[1], columns or range(table.shape[1]), step.name
        ),
        arrays=lambda: {"values": table, "rows": np.array(rows), "columns": np.array(columns)},
        model=data.card.path,
        state_of=lambda: {"lines": [*data.lines]},
    )
