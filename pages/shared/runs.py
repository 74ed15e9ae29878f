"""The trainings of this machine, with their states and records.

A training is a separate process. The app starts it, then only reads its folder and leaves commands there; so a
reloaded page, a second tab or a restarted app finds every run unchanged.
"""

import math
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from headlight.cli.launch import Launcher, Started
from headlight.language import say
from pages.shared import cache, models, owners
from transformer_core.config import ModelConfig
from transformer_core.errors import NO_MESSAGE, HeadlightError, Message, RunError, mark
from transformer_core.training.config import TrainingConfig
from transformer_core.training.run.queue import QUEUED

if TYPE_CHECKING:
    from transformer_core.training.run.directory import RunDirectory
    from transformer_core.training.run.status import RunStatus

_DAMAGED = mark("{path} is damaged; delete the training, or restore that file")
_VISIT = ".last-visit"  # file with the time when the Train page was last drawn, and the runs at work then
STATES = {  # in words, and the color of the badge
    "starting": (mark("starting"), "gray"),
    "queued": (mark("waiting"), "gray"),
    "running": (mark("training"), "primary"),
    "paused": (mark("paused"), "orange"),
    "stopped": (mark("stopped"), "orange"),
    "finished": (mark("finished"), "green"),
    "failed": (mark("failed"), "red"),
}


@dataclass(frozen=True, kw_only=True)
class Run:
    """One training, as described by its folder or by the process that is about to create the folder."""

    name: str
    path: Path
    state: str  # one of STATES
    step: int = 0
    reason: Message = NO_MESSAGE
    request: Mapping[str, Any] | None = None  # run.json; None until there is one
    arguments: tuple[str, ...] = ()  # its start arguments, while it waits or if it never began

    @property
    def is_at_work(self) -> bool:
        """Whether a process works on it or is about to."""
        return self.state in ("starting", "queued", "running", "paused")

    @property
    def n_steps(self) -> int:
        """The number of steps of the whole training; 0 while unknown."""
        return int(self.request["training"]["steps"]) if self.request else 0

    @property
    def far(self) -> str:
        """Its progress in words."""
        return say("step {step:,} of {n:,}", step=self.step, n=self.n_steps) if self.n_steps else say("starting")

    @property
    def architecture(self) -> str:
        """The architecture of its model; "" while unknown."""
        return str(self.request["model"]["architecture"]) if self.request else ""

    @property
    def title(self) -> str:
        """Its name and state, for a list that is not redrawn each second."""
        is_busy = self.is_at_work and self.state != "paused"
        return f"{self.name} · {say('running') if is_busy else say(STATES[self.state][0])}"


def folder() -> Path:
    """Return the folder of the runs: HEADLIGHT_RUNS, by default `runs`."""
    return Path(os.environ.get("HEADLIGHT_RUNS", models.ROOT / "runs")).resolve()


@st.cache_resource(show_spinner=False, on_release=Launcher.close)
def launcher() -> Launcher:
    """Return the one launcher of this server."""
    return Launcher(models.ROOT, owners.TRAINING_MEMORY if owners.is_shared() else None)


def available() -> dict[str, Run]:
    """Return the runs by name, the newest first."""
    results: dict[str, tuple[float, Run]] = {}
    for started in launcher().started():
        if started.run.parent == folder() and not (started.run / "run.json").exists():  # experiments are elsewhere
            results[started.run.name] = (float("inf"), _starting(started))
    for place in folder().glob("[!.]*"):
        with suppress(OSError, StopIteration):
            result = next(file for file in (place / "run.json", place / QUEUED) if file.exists()).stat().st_mtime
            if (run := find(place.name)) is not None:
                results[place.name] = (result, run)
    return {name: run for name, (_, run) in sorted(results.items(), key=lambda item: (-item[1][0], item[0]))}


def find(name: str) -> Run | None:
    """Return a run by its name, in its current state; None if there is none."""
    place = folder() / name
    if not name or Path(name).name != name or name.startswith("."):
        return None
    if not (place / "run.json").exists():
        return _not_begun(place)
    from transformer_core.training.run.records import read_object, read_request
    from transformer_core.training.run.request import RunRequest
    from transformer_core.training.run.status import WorkDirectory

    try:
        request, status = read_object(place / "run.json"), WorkDirectory(place).standing(has_begun=True)
        if request is not None:
            read_request(place / "run.json", RunRequest.from_dict, missing=NO_MESSAGE)
    except RunError as error:
        return Run(name=name, path=place, state="failed", reason=error.message)
    if not _is_request(request):
        return Run(name=name, path=place, state="failed", reason=Message(_DAMAGED, path=place / "run.json"))
    if status is None:
        return Run(name=name, path=place, state="starting")
    return Run(
        name=name,
        path=place,
        state=_state(status, place),
        step=_step(status, place),
        reason=_trouble(place) if status.state == "failed" and not status.reason else status.reason,
        request=request,
    )


def _is_request(values: Mapping[str, Any] | None) -> bool:
    training, model = ((values or {}).get(name) for name in ("training", "model"))
    return (
        isinstance(training, dict)
        and isinstance(training.get("steps"), int)
        and isinstance(model, dict)
        and isinstance(model.get("architecture"), str)
    )


def ended_since_last_visit(runs: Mapping[str, Run]) -> list[str]:
    """Return the names of all runs that ended since the last call; none at the first call.

    The time of that call is stored beside the runs, and survives restarts of browser and server.
    """
    note = folder() / _VISIT
    try:
        visited, were_at_work = note.stat().st_mtime, note.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        visited, were_at_work = math.inf, []
    with suppress(OSError):
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text("\n".join(run.name for run in runs.values() if run.is_at_work), encoding="utf-8")
    return [
        name for name, run in runs.items() if not run.is_at_work and (name in were_at_work or _last_word(run) > visited)
    ]


def directory(run: Run) -> "RunDirectory":
    """Return the run's folder, opened.

    Raises:
        RunError: it cannot be read.
    """
    from transformer_core.training.run.directory import RunDirectory

    return RunDirectory.open(run.path)


def configurations(run: Run) -> tuple[ModelConfig, TrainingConfig]:
    """Return the request of a run.

    Raises:
        RunError: it cannot be read.
    """
    request = directory(run).request
    return request.model, request.training


def saved_step(run: Run) -> int | None:
    """Return the step of a run's last save; None if there is none or it cannot be read."""
    with suppress(HeadlightError):
        progress = directory(run).progress()
        return None if progress is None else progress.step
    return None


def records(run: Run) -> list[dict[str, Any]]:
    """Return the measurements up to the run's step, so that everything shown is of one step.

    Raises:
        RunError: a line in the middle is damaged.
    """
    result = read_records(run.path / "metrics.jsonl")
    while run.state == "running" and result and result[-1]["step"] > run.step:
        result.pop()
    return result


def read_records(path: Path) -> list[dict[str, Any]]:
    """Return the records of a file; all sessions share one reader, which reads each line once.

    Raises:
        RunError: a line in the middle is damaged.
    """
    from transformer_core.training.run.records import RecordFile

    kind = mark("records of trainings")
    records = cache.get(kind, path, lambda: RecordFile(path)).read()
    cache.shared().measure(kind, path)
    return records


def _state(status: "RunStatus", place: Path) -> str:
    """Return the state of a run; one that stopped, and that somebody has just asked to continue, is starting."""
    is_restarting = any(
        started.run == place and started.time > status.heartbeat and started.process.poll() is None
        for started in launcher().started()
    )
    return "starting" if is_restarting and not status.is_at_work and status.state != "finished" else status.state


def _step(status: "RunStatus", place: Path) -> int:
    """Return the last known step: a run at work, or one that was killed, logs more often than it writes its state."""
    if status.state not in ("running", "failed"):
        return status.step
    logged: list[dict[str, Any]] = []
    with suppress(RunError):  # the page that draws the measures reports it
        logged = read_records(place / "metrics.jsonl")
    last = logged[-1]["step"] if logged else status.step
    return last if status.state == "running" else max(last, status.step)


def _last_word(run: Run) -> float:
    """Return when the run's process last wrote its state, in seconds since 1970 (UTC); 0 if it never did."""
    try:
        return (run.path / "status.json").stat().st_mtime
    except OSError:
        return 0.0


def _not_begun(place: Path) -> Run | None:
    """Return a run that was started and has not begun, since it waits or ended before; None if there is none."""
    from transformer_core.training.run.status import WorkDirectory

    arguments = tuple(map(str, started_with(place).get("arguments", ())))
    started = next((_starting(s) for s in launcher().started() if s.run == place), None)
    status = None
    with suppress(RunError):
        status = WorkDirectory(place).standing()
    if status is None or (started is not None and started.state == "failed") or not arguments:
        if started is None and arguments:
            return Run(name=place.name, path=place, state="stopped", arguments=arguments)
        return None if started is None else replace(started, arguments=arguments)
    state = _state(status, place)
    return Run(name=place.name, path=place, state=state, reason=status.reason, arguments=arguments)


def started_with(place: Path) -> Mapping[str, Any]:
    """Return the arguments of a run that waits or waited, and `by`: who started it, as `owners.visitor` names them."""
    from transformer_core.training.run.records import read_object

    with suppress(RunError):
        return read_object(place / QUEUED) or {}
    return {}


def _starting(started: Started) -> Run:
    trouble = started.trouble()
    state = "failed" if trouble else "starting"
    return Run(name=started.run.name, path=started.run, state=state, reason=trouble)


def _trouble(place: Path) -> Message:
    with suppress(HeadlightError, StopIteration):
        return next(s.trouble() for s in launcher().started() if s.run == place)
    return NO_MESSAGE
