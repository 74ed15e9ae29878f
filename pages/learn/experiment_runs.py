"""The experiments of this machine: small trainings side by side, each in a process that the app starts and watches.

The app reads an experiment's folder and writes commands there, as with a training. So a reloaded page, a second tab or
a restarted app finds every experiment unchanged. One runs at a time; the others wait in line.
"""

import re
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from headlight.cli.launch import forget_log
from headlight.experiments.experiment import (
    AT_ONCE,
    LINE,
    REQUEST,
    ExperimentDirectory,
    ExperimentKind,
    ExperimentRequest,
)
from headlight.language import say
from pages.shared import owners, run_commands, runs
from pages.shared.recipe import Expression, call, named
from pages.shared.run_figures import records_of
from pages.shared.view.fields import Field
from transformer_core.errors import NO_MESSAGE, HeadlightError, Message, RunError
from transformer_core.training.run.queue import n_free

MOST_KEPT = 24  # experiments that have ended; the oldest are deleted
MOST_WAITING = 4
_USUAL_PACE = 0.018  # seconds per step and variant, including measurements
_PACE_OF = 6  # number of newest experiments searched for a measured pace
_NAME = re.compile(r"(positions|masks)-\d{8}-\d{6}(-\d{1,3})?")


def _name(kind: ExperimentKind, text: str) -> str:
    """Read an experiment's name.

    Raises:
        ValueError: it is not the name of an experiment of this kind.
    """
    match = _NAME.fullmatch(text)
    if not match or match[1] != kind:
        raise ValueError(say("the format is {kind}-20260101-120000", kind=kind))
    return text


POSITIONS, MASKS = (Field(page, "experiment", "", partial(_name, page)) for page in ("positions", "masks"))
FIELDS: Mapping[ExperimentKind, Field] = {"positions": POSITIONS, "masks": MASKS}  # "": the last experiment is shown


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """The state of an experiment, from its folder or from the process that is about to create it."""

    name: str
    path: Path
    state: str  # "starting", or the state of a run
    step: int = 0
    reason: Message = NO_MESSAGE
    request: ExperimentRequest | None = None  # None until its folder exists

    @property
    def is_at_work(self) -> bool:
        """Whether it is running, queued or starting."""
        return self.state in ("starting", "queued", "running")


def folder() -> Path:
    """Return the folder of the experiments, a hidden folder among the runs."""
    return runs.folder() / ".experiments"


def find(name: str) -> Experiment | None:
    """Return an experiment by its name, in its current state; None if there is none."""
    if not _NAME.fullmatch(name):
        return None
    place = folder() / name
    if not (place / REQUEST).exists():
        return _starting(place)
    try:
        directory = ExperimentDirectory.open(place)
        status = directory.standing(has_begun=True)
    except RunError as error:
        return Experiment(name=name, path=place, state="failed", reason=error.message)
    starting = Experiment(name=name, path=place, state="starting", request=directory.request)
    return replace(starting, state=status.state, step=status.step, reason=status.reason) if status else starting


def shown(kind: ExperimentKind) -> Experiment | None:
    """Return the experiment that a page shows: the one in its address, or else the newest."""
    if name := FIELDS[kind].value:
        return find(name)
    return next((experiment for name in _names(kind) if (experiment := find(name)) is not None), None)


def at_work() -> list[Experiment]:
    """Return the experiments that are running, queued or starting, oldest first."""
    starting = [started.run.name for started in runs.launcher().started() if started.run.parent == folder()]
    result = (find(name) for name in sorted({*_names("positions"), *_names("masks"), *starting}, key=_when))
    return [experiment for experiment in result if experiment is not None and experiment.is_at_work]


def start(request: ExperimentRequest) -> None:
    """Start an experiment and show it; delete the oldest of those that have ended.

    Raises:
        RunError: too many are already queued, or it cannot be started.
    """
    if len(at_work()) > MOST_WAITING:
        raise RunError(
            "{n} experiments are already queued on this machine; wait until one has finished", n=MOST_WAITING
        )
    _forget_oldest()
    name = run_commands.first_free(folder(), f"{request.kind}-{time.strftime('%Y%m%d-%H%M%S')}")
    path = folder() / name
    owners.claim(path)
    waits = bool(at_work()) or not n_free(LINE, AT_ONCE)
    runs.launcher().start(path, [*request.arguments, "--folder", str(path), "--queue"], waits=waits)
    FIELDS[request.kind].set(name)


def stop(experiment: Experiment) -> None:
    """Ask an experiment to stop after its next step.

    Raises:
        RunError: its folder cannot be written, or somebody else started it on a shared server.
    """
    from transformer_core.training.run import commands

    owners.check_is_mine(experiment.path, RunError)
    commands.ask(experiment.path, "stop")


def records(experiment: Experiment) -> list[dict[str, Any]]:
    """Return the measurements so far.

    Raises:
        RunError: a line in the middle is damaged.
    """
    return runs.read_records(experiment.path / "metrics.jsonl")


def reading_recipe(experiment: Experiment) -> Expression:
    """Return the results of an experiment with a request, as code."""
    from headlight.analysis.training.curves import read_experiment

    assert experiment.request is not None, "measurements have a request"
    records = records_of(experiment.path, "metrics.jsonl")
    return named("reading", call(read_experiment, records, experiment.request.variants))


def in_words(experiment: Experiment) -> dict[str, str]:
    """Return the name of the experiment, and the command that reproduces its numbers."""
    return {"experiment": experiment.name} | ({"command": experiment.request.command} if experiment.request else {})


def seconds_for(request: ExperimentRequest) -> float:
    """Estimate the duration in seconds from the last finished experiment of this kind and task, or a default pace."""
    pace = _USUAL_PACE
    for name in _names(request.kind)[:_PACE_OF]:
        experiment = find(name)
        before = experiment.request if experiment and experiment.state == "finished" else None
        if experiment is None or before is None or before.task != request.task:
            continue
        with suppress(RunError):
            seconds = max((float(line["seconds"]) for line in records(experiment) if "seconds" in line), default=0.0)
            pace = seconds / (before.steps * len(before.variants))
            break
    return request.steps * len(request.variants) * pace


def _names(kind: ExperimentKind) -> list[str]:
    names = (place.name for place in folder().glob(f"{kind}-*") if _NAME.fullmatch(place.name))
    return sorted(names, key=_when, reverse=True)


def _when(name: str) -> tuple[str, int]:
    """Return the sort key of an experiment: its start time."""
    _, day, second, *number = name.split("-")
    return day + second, int(*number) if number else 0


def _starting(place: Path) -> Experiment | None:
    """Return an experiment whose folder does not exist yet, or that failed before creating it; None otherwise."""
    for started in runs.launcher().started():
        if started.run == place:
            trouble = started.trouble()
            return Experiment(name=place.name, path=place, state="failed" if trouble else "starting", reason=trouble)
    return None


def _forget_oldest() -> None:
    """Delete the oldest experiments that have ended, so that at most `MOST_KEPT` remain with the new one."""
    names = sorted([*_names("positions"), *_names("masks")], key=_when)
    ended = [experiment for name in names if (experiment := find(name)) is not None and not experiment.is_at_work]
    for experiment in ended[: max(0, len(ended) - MOST_KEPT + 1)]:
        with suppress(OSError, HeadlightError):
            runs.launcher().forget(experiment.path)
            run_commands.remove(experiment.path)
            forget_log(folder() / ".logs" / f"{experiment.name}.log")
