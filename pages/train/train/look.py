"""What the newest weights of a training make of some texts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pages.shared import run_models, run_readings
from pages.shared.runs import Run
from transformer_core.errors import NO_MESSAGE, CheckpointError, HeadlightError, Message

if TYPE_CHECKING:
    from headlight.analysis.trace.model_run import ModelRun

N_SAMPLES = 4
Sample = tuple[str, str]
"""A text, and what the model made of it."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """What a model writes after a step, and where its heads look meanwhile."""

    step: int
    samples: list[Sample]
    model_run: "ModelRun | None"  # of the text that a person chose; None where it cannot be read
    problem: Message  # why not


def look_at(run: Run, text: str, examples: Sequence[str]) -> Look:
    """Let the newest weights read a text, and some others; a decoder's continuations are drawn at random.

    Raises:
        HeadlightError: there are none.
    """
    from transformer_core.training.run.samples import continuation

    step, is_continued = _newest_loaded(run), run.architecture == "decoder_only"
    samples: list[Sample] = []
    model_run, problem = None, NO_MESSAGE
    for given in dict.fromkeys(filter(None, (text, *examples[: N_SAMPLES - 1]))):
        try:
            read = None if is_continued and given != text else run_readings.read(run, step, given)
            output = continuation(*run_models.load(run, step), given) if is_continued or not read else read.output
        except HeadlightError as error:
            problem = error.message if given == text else problem
            continue
        samples.append((given, output))
        model_run = read if given == text else model_run
    return Look(step=step, samples=samples, model_run=model_run, problem=problem)


def _newest_loaded(run: Run) -> int:
    """Return the step of the newest weights, which are in memory now: who else looks at the run has them replaced.

    Raises:
        HeadlightError: there are none.
    """
    for is_last in (False, False, True):
        step = run_readings.newest_step(run)
        if step is None:
            break
        try:
            run_models.load(run, step)
            return step
        except HeadlightError:
            if is_last:
                raise
    raise CheckpointError("the first weights will be available in a moment")
