"""What the newest weights of a training make of some texts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pages.shared import run_readings
from pages.shared.runs import Run
from transformer_core.errors import CheckpointError, HeadlightError
from transformer_core.language import say

if TYPE_CHECKING:
    from transformer_core.analysis import Reading

N_SAMPLES = 4
Sample = tuple[str, str, bool]
"""A text, what the model made of it, and whether it ended by itself."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """What a model says after a step, and where its heads look meanwhile."""

    step: int
    samples: list[Sample]
    reading: "Reading | None"  # of the text that a person chose; None where it cannot be read
    problem: str  # why not


def look_at(run: Run, text: str, examples: Sequence[str]) -> Look:
    """Let the newest weights read a text, and some others.

    Raises:
        HeadlightError: there are none that could be looked at.
    """
    step = _newest_loaded(run)
    samples: list[Sample] = []
    reading, problem = None, ""
    for given in dict.fromkeys(filter(None, (text, *examples[: N_SAMPLES - 1]))):
        try:
            read = run_readings.read(run, step, given)
        except HeadlightError as error:
            problem = str(error) if given == text else problem
            continue
        samples.append((given, read.output, read.is_complete))
        reading = read if given == text else reading
    return Look(step=step, samples=samples, reading=reading, problem=problem)


def _newest_loaded(run: Run) -> int:
    """Return the step of the newest weights, which are in memory now: who else looks at the run has them replaced.

    Raises:
        HeadlightError: there are none that could be looked at.
    """
    for is_last in (False, False, True):
        step = run_readings.newest_step(run)
        if step is None:
            break
        try:
            run_readings.load(run, step)
            return step
        except HeadlightError:
            if is_last:
                raise
    raise CheckpointError(say("its first weights come in a moment"))
