"""The verdict on a line: whether it is correct, or else why not, and in which cell it differs most."""

import math

from headlight.figures import isolate
from headlight.figures.quantities import MINUS
from headlight.language import localized, say
from pages.learn.build.data import BuildData
from pages.learn.build.engine.judging import Cell, Verdict
from pages.learn.steps.step_texts import PLACES
from pages.shared import prose
from transformer_core.errors import mark

ASK = mark("Write the line and press Enter.")
RIGHT = mark("Correct: these are the model’s numbers.")
DIFFERS = mark("Largest difference at {place}: your value is {value}, the expected value is {expected}.")


def show(data: BuildData) -> None:
    """Say what the open line computes."""
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


def _difference(data: BuildData, cell: Cell) -> str:
    """Return where a result differs most."""
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
    """Return a number with four digits that count."""
    if math.isnan(value):
        return "NaN"
    text = localized(abs(value), ".4g") if math.isfinite(value) else "∞"
    return f"{MINUS if value < 0 else ''}{text}"
