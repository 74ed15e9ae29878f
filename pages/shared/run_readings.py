"""The model of a run, current or at a snapshot of its film, and example texts for it."""

from pathlib import Path
from typing import TYPE_CHECKING

from pages.shared import cache, run_commands, runs
from pages.shared.runs import Run
from pages.shared.sources import Source
from transformer_core.errors import mark

if TYPE_CHECKING:
    from transformer_core.training.run.film import Film


def version(run: Run) -> str:
    """Return a key that distinguishes runs of the same name, and a run resumed with other settings."""
    return cache.version(run.path / "run.json")


def source(run: Run, step: int) -> Source:
    """Return the source of a run's model after a step; loading it fails once newer weights have replaced these."""
    return Source(str(run.path), version(run), step=step)


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
    return max((step for step in steps if step is not None), default=None)


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
