"""The results of the learner's lines: the verdict on the open line, a picture of its result, and the whole program."""

import math
from math import isinf, prod

import numpy as np
import streamlit as st

from headlight.analysis.heads.table import matrix_csv
from headlight.figures import TokenGrid, isolate
from headlight.figures.heatmaps.number_panels import number_panels
from headlight.figures.quantities import MINUS
from headlight.language import localized, say
from pages.learn.build.data import BuildData
from pages.learn.build.engine.judging import TOLERANCE, LargestDifference, Verdict, judge
from pages.learn.build.engine.steps import N_OF_ONE_HEAD
from pages.learn.build.engine.values import LineError
from pages.learn.steps.step_texts import PLACES
from pages.shared import prose
from pages.shared.drawing import draw, looks
from pages.shared.recipe import Expression, Print, call, through
from transformer_core.errors import mark

ASK = mark("Write the line and press Enter.")
RIGHT = mark("Correct: these are the model’s numbers.")
DIFFERS = mark("Largest difference at {place}: your value is {value}, the expected value is {expected}.")
SHARES = ("weights", "pattern")  # values from 0 to 1; all others have both signs
AXES = {  # the meaning of a row or a column
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
WIDTH = 430  # px, the width that the layout assumes
OPEN = mark("{n} of 12 lines are correct; still open: {steps}.")
ABOUT = mark(
    "Lines 1 to 9 run for each head, with its own W_Q, W_K and W_V; Q, K and V of line 10 are the q, k and v of all "
    "heads."
)
AGREES = mark(
    "Your program computes the model’s attention output: {n:,} numbers, largest difference {error} from the model’s "
    "own modules in float64, {captured} from its output captured in {dtype}."
)
HEADS = mark("Lines 4 to 9, run for each head, agree with line 10 to within {error}.")
DISAGREES = mark(
    "Your program does not compute the model’s attention output: the largest difference is {error}. Each line is "
    "correct on its own, so one of them must be correct for this head only."
)
HEADS_DISAGREE = mark(
    "Lines 4 to 9 are correct for this head. Run for every head, they differ from line 10 by up to {error}: one of "
    "them must be correct for this head only."
)


def show_verdict(data: BuildData) -> None:
    """Show the verdict on the open line."""
    verdict = data.verdicts[data.place]
    if verdict is None:
        prose.html("<p class='hl-build-verdict' role='status'>{}</p>", say(ASK))
        return
    prose.html(
        "<p class='hl-build-verdict' role='status' data-right='{}'>{}</p>", verdict.is_right, sentence(data, verdict)
    )


def sentence(data: BuildData, verdict: Verdict) -> str:
    """Return the message about a line."""
    if verdict.is_right:
        return say(RIGHT)
    reasons = [prose.sentence(reason) for reason in verdict.reasons]
    return " ".join([*reasons, *([_difference(data, verdict.cell)] if verdict.cell else [])])


def _difference(data: BuildData, cell: LargestDifference) -> str:
    sides = {"query": data.labels[0], "key": data.labels[1]}
    places = []
    for axis, index in zip(data.step.axes, cell.index, strict=True):
        if axis == "head":
            places.append(say("head {head}", head=index))
        else:
            token = f" “{isolate(sides[axis][index])}”" if axis in sides else ""
            places.append(say(PLACES[axis], place=f"{index}{token}"))
    return say(DIFFERS, place=", ".join(places), value=written(cell.value), expected=written(cell.expected))


def written(value: float) -> str:
    """Return a number with four significant digits."""
    if math.isnan(value):
        return "NaN"
    text = localized(abs(value), ".4g") if math.isfinite(value) else "∞"
    return f"{MINUS if value < 0 else ''}{text}"


def show_pictures(data: BuildData) -> None:
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
    """Return the number of cells in the picture of an array, which shows one head of several."""
    return values.size if values.ndim <= 2 else prod(values.shape[1:]) if len(values) else 0


def _picture(data: BuildData, recipe: Expression, values: np.ndarray, title: str, key: str) -> None:
    """Draw an array; of several heads, draw the one that differs most from the expected result, or the chosen one."""
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


def show_program(data: BuildData) -> None:
    """Draw the program once all lines are correct; until then say which are not."""
    still_open = data.open_steps
    if still_open:
        if data.place == len(data.lines) - 1:
            steps = ", ".join(map(str, still_open))
            prose.small(say(OPEN, n=len(data.lines) - len(still_open), steps=steps))
        return
    prose.subheading(say("Your attention"), say(ABOUT))
    with st.container(key="hl-build-program"):
        st.code(program_text(data), language="python", line_numbers=False)
    try:
        run = data.bench.program(data.lines)
    except LineError as error:
        prose.warning(prose.sentence(error))
        return
    for largest, sentence in ((run.error, DISAGREES), (run.error_of_heads, HEADS_DISAGREE)):
        if not largest <= TOLERANCE:
            prose.html("<p class='hl-proof hl-unproved'>{}</p>", say(sentence, error=_exponent(largest)))
            return
    agrees = say(
        AGREES,
        n=run.attn_out.size,
        error=_exponent(run.error),
        captured=_exponent(run.error_of_captured),
        dtype=data.walk.proof().dtype,
    )
    prose.html("<p class='hl-proof hl-proved'>{} {}</p>", agrees, say(HEADS, error=_exponent(run.error_of_heads)))


def program_text(data: BuildData) -> str:
    """Return the program as text."""
    lines = [
        line if line.startswith(f"{step.name} =") or line.startswith(f"{step.name}=") else f"{step.name} = {line}"
        for step, line in zip(data.bench.steps, data.lines, strict=True)
    ]
    one_head, rest = lines[:N_OF_ONE_HEAD], lines[N_OF_ONE_HEAD:]
    comments = say("for each head"), say("for all heads together")
    return "\n".join([f"# {comments[0]}", *one_head, "", f"# {comments[1]}", *rest])


def _exponent(error: float) -> str:
    return "∞" if isinf(error) else localized(error, ".1e") if error else "0"
