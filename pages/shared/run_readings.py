"""The cached model run of a text by the model of a run, as it is now or as it was at a snapshot of its film."""

from pathlib import Path
from typing import TYPE_CHECKING

from pages.shared import cache, readings, run_commands, run_models, runs
from pages.shared.runs import Run
from pages.shared.sources import Source
from transformer_core.errors import mark

if TYPE_CHECKING:
    from headlight.analysis.trace.model_run import ModelRun
    from transformer_core.training.run.film import Film


def film(run: Run) -> "Film":
    """Return the film of a run."""
    from transformer_core.training.run.film import Film

    return Film(run.path)


def newest_step(run: Run) -> int | None:
    """Return the step of the newest weights that can be read, and ask a running run for newer ones.

    None: there are none yet.

    Raises:
        HeadlightError: the run's folder is damaged, or cannot be written.
    """
    if run.state in ("running", "paused"):
        run_commands.ask(run, "look")
    saved = runs.directory(run).progress()
    steps = [film(run).step_now(), *film(run).snapshots()[-1:], None if saved is None else saved.step]
    known = [step for step in steps if step is not None]
    return max(known) if known else None


def read(run: Run, step: int, text: str) -> "ModelRun":
    """Return the output of a run's model after a step, and every head's pattern.

    Raises:
        HeadlightError: these weights are not there any more, or the text cannot be read.
    """
    return readings.read(Source(str(run.path), run_models.version(run), step=step), text)


def examples(run: Run) -> tuple[str, ...]:
    """Return good texts for the model of a run.

    Raises:
        HeadlightError: the film has not begun.
    """
    from transformer_core.checkpoints.checkpoint import CARD

    return _examples(run.path / "film", cache.version(run.path / "film" / CARD))


@cache.by_arguments(mark("examples"))
def _examples(folder: Path, version: str) -> tuple[str, ...]:
    from transformer_core.checkpoints.checkpoint import read_card

    return tuple(map(str, read_card(folder).get("examples", ())))
