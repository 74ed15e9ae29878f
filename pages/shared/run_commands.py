"""Commands to the trainings of this machine: start, resume, ask, delete."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from pages.shared import models, owners, runs
from pages.shared.runs import Run
from transformer_core.checkpoints.folder import write_json
from transformer_core.errors import RunError
from transformer_core.reasons import reason
from transformer_core.training.run.queue import QUEUED, n_at_once, n_free

_MAX_NAME = 40  # characters
MOST_WAITING = 8  # trainings in all, besides those that run in parallel
MOST_OF_A_VISITOR = 5  # trainings of one visitor, at work or waiting


def free_name(wanted: str) -> str:
    """Return a name for a new run, derived from the wanted one, that no other run has."""
    plain = re.sub(r"[^a-z0-9._-]+", "-", wanted.lower())[:_MAX_NAME].strip("-.") or "run"
    return first_free(runs.folder(), plain)


def first_free(place: Path, plain: str) -> str:
    """Return a name, numbered if necessary, that no folder and no started run has."""
    taken = {path.name for path in place.glob("*")} | {started.run.name for started in runs.launcher().started()}
    return next(name for name in (plain, *(f"{plain}-{i}" for i in range(2, len(taken) + 3))) if name not in taken)


def start(name: str, arguments: Sequence[str]) -> None:
    """Start a new training, or resume one.

    Args:
        name: of the run.
        arguments: of `train`, without the run's folder.

    Raises:
        RunError: it cannot be started.
    """
    path = runs.folder() / name
    at_work = [run for run in runs.available().values() if run.is_at_work]
    if len(at_work) >= n_at_once() + MOST_WAITING:
        raise RunError(
            "{n} trainings are already running or queued on this machine; wait until one has finished, or stop one",
            n=len(at_work),
        )
    if 1 + sum(runs.started_with(run.path).get("by") == owners.visitor() for run in at_work) > MOST_OF_A_VISITOR:
        raise RunError(
            "{n} trainings that you started are already running or queued; wait until one has finished, or stop one",
            n=MOST_OF_A_VISITOR,
        )
    if path.exists():
        owners.check_is_mine(path, RunError)
    owners.claim(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
        write_json(path / QUEUED, {"arguments": [*arguments], "by": owners.visitor()})
    except OSError as error:
        raise RunError(
            "{path} cannot be written ({error}); choose another folder", path=path, error=reason(error)
        ) from error
    starting = sum(run.state == "starting" for run in at_work)  # they do not hold their places yet
    runs.launcher().start(path, ["train", "--run", str(path), "--queue", *arguments], waits=n_free() <= starting)


def resume(run: Run) -> None:
    """Resume a run from its last save, on the device that it began on.

    Raises:
        RunError: it cannot be started, or the text that it is trained on is gone.
    """
    if run.request is None:
        start(run.name, run.arguments)
        return
    from headlight.programs.corpus import PREFIX
    from headlight.programs.examples import EXAMPLES
    from transformer_core.corpora import BETWEEN, CORPORA

    corpus = str((run.request or {}).get("corpus", ""))
    place = corpus.removeprefix(PREFIX)
    is_made_here = corpus in CORPORA or (place != corpus and place in EXAMPLES)
    if not is_made_here and not all((models.ROOT / part).exists() for part in place.split(BETWEEN)):
        raise RunError("its training text, {name}, no longer exists; upload it again to resume", name=Path(corpus).name)
    start(run.name, ["--resume", "--device", "auto"])


def ask(run: Run, command: str, value: float = 1.0) -> None:
    """Leave a command for a run; on a shared server, all commands except "look" are reserved for its owner.

    Raises:
        RunError: its folder cannot be written, or somebody else trains it on a shared server.
    """
    from transformer_core.training.run import commands

    if command != "look":
        owners.check_is_mine(run.path, RunError)
    commands.ask(run.path, command, value)  # type: ignore[arg-type]  # one of the names


def delete(run: Run) -> None:
    """Delete a run that no process works on.

    Raises:
        RunError: a process works on it, it cannot be deleted, or somebody else made it on a shared server.
    """
    owners.check_is_mine(run.path, RunError)
    runs.launcher().forget(run.path)
    if not run.path.exists():
        owners.forget(run.path)
        return
    now = runs.find(run.name)
    if now is not None and now.is_at_work:
        raise RunError("{run} is training; stop it first", run=run.name)
    try:
        remove(run.path)
    except OSError as error:
        raise RunError(
            "{run} cannot be deleted ({error}); check the permissions of its folder",
            run=run.name,
            error=reason(error),
        ) from error


def remove(path: Path) -> None:
    """Delete a folder atomically, so that nobody finds it half deleted.

    Raises:
        OSError: it cannot be deleted.
    """
    gone = path.with_name(f".{path.name}.deleted")
    shutil.rmtree(gone, ignore_errors=True)
    path.rename(gone)
    owners.forget(path)
    shutil.rmtree(gone)
