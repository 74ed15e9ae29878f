"""The twelve lines as one program, run from the inputs on, and compared with the model's own attention output."""

from math import isinf

import streamlit as st

from headlight.language import localized, say
from pages.learn.build.data import BuildData
from pages.learn.build.engine.judging import TOLERANCE
from pages.learn.build.engine.steps import N_OF_ONE_HEAD
from pages.learn.build.engine.values import LineError
from pages.shared import prose
from transformer_core.errors import mark

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


def show(data: BuildData) -> None:
    """Draw the program once all lines are correct; until then say which are not."""
    still_open = data.open_steps
    if still_open:
        if data.place == len(data.lines) - 1:
            steps = ", ".join(map(str, still_open))
            prose.small(say(OPEN, n=len(data.lines) - len(still_open), steps=steps))
        return
    prose.subheading(say("Your attention"), say(ABOUT))
    with st.container(key="hl-build-program"):
        st.code(written(data), language="python", line_numbers=False)
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


def written(data: BuildData) -> str:
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
