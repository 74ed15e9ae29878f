"""The models of a run: as they are now, or as they were at a snapshot of its film."""

from pathlib import Path
from typing import TYPE_CHECKING

from pages.shared import cache, models
from pages.shared.runs import Run
from transformer_core.errors import HeadlightError, mark

if TYPE_CHECKING:
    from transformer_core.model.transformer import Transformer
    from transformer_core.text.interface import Tokenizer


def load(run: Run, step: int) -> "tuple[Transformer, Tokenizer]":
    """Return the model of a run as it was after a step, and its tokenizer.

    Raises:
        HeadlightError: these weights are not there any more.
    """
    return load_at(str(run.path), version(run), step)


@cache.by_arguments(mark("models"))
def load_at(path: str, version: str, step: int) -> "tuple[Transformer, Tokenizer]":
    """Return the model of a run as it was after a step, and its tokenizer.

    Args:
        path: the run's folder.
        version: tells two runs apart that had the same folder one after the other.
        step: which weights.

    Raises:
        HeadlightError: these weights are not there any more.
    """
    import transformer_core as tc
    from transformer_core.training.run.directory import RunDirectory
    from transformer_core.training.run.film import Film

    run_film = Film(Path(path))
    with models.on(models.CPU):
        if step in run_film.snapshots():
            return run_film.load(step)
        if run_film.step_now() == step:
            now, model, tokenizer = run_film.load_now()
            if now == step:
                return model, tokenizer
        progress = RunDirectory.open(Path(path)).progress()
        if progress is not None and progress.step == step:
            return tc.load(Path(path) / "last")
    raise HeadlightError("the weights of step {step:,} were replaced by newer ones; reload", step=step)


def version(run: Run) -> str:
    """Return a key that distinguishes runs of the same name, and a run resumed with other settings."""
    return cache.version(run.path / "run.json")
