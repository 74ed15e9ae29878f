"""The trials of this machine: small trainings side by side, each a process of its own that the app starts and watches.

As with a training, the app only reads a trial's folder and leaves commands there; so a reloaded page, a second tab or
an app that was started again finds every trial as it is. One is at work at a time; further ones wait in line.
"""

import re
import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pages.shared import runs
from pages.shared.fields import Field
from transformer_core.errors import NO_MESSAGE, HeadlightError, Message, RunError
from transformer_core.language import say
from transformer_core.training.run.launch import forget_log
from transformer_core.training.trial.trial import TrialKind, TrialRequest

MOST_KEPT = 24  # trials that have ended; the oldest go
MOST_WAITING = 4
_USUAL_PACE = 0.018  # seconds a step of an arm, measurements included
_PACE_OF = 6  # trials, the newest, among which one is looked for that tells the pace
_NAME = re.compile(r"(positions|masks)-\d{8}-\d{6}(-\d{1,3})?")


def _name(kind: TrialKind, text: str) -> str:
    """Read a trial's name.

    Raises:
        ValueError: no trial of this kind is named so.
    """
    found = _NAME.fullmatch(text)
    if not found or found[1] != kind:
        raise ValueError(say("it is named like {kind}-20260101-120000", kind=kind))
    return text


POSITIONS = Field("positions", "trial", "", partial(_name, "positions"))  # belongs to the fields of the page Positions
MASKS = Field("masks", "trial", "", partial(_name, "masks"))  # belongs to the fields of the page Masks
FIELDS: Mapping[TrialKind, Field] = {"positions": POSITIONS, "masks": MASKS}  # which trial a page shows; "": the last


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One trial, as far as its folder, or the process that is about to make it, tells."""

    name: str
    path: Path
    state: str  # "starting", or one of a run's
    step: int = 0
    reason: Message = NO_MESSAGE
    request: TrialRequest | None = None  # None until its folder is there

    @property
    def is_at_work(self) -> bool:
        """Whether a process works on it, or is about to."""
        return self.state in ("starting", "queued", "running")


def folder() -> Path:
    """Return where the trials are: a hidden folder among the runs."""
    return runs.folder() / ".trials"


def find(name: str) -> Trial | None:
    """Return a trial by its name, as it stands now; None where there is none."""
    if not _NAME.fullmatch(name):
        return None
    from transformer_core.training.trial.directory import REQUEST, TrialDirectory

    place = folder() / name
    if not (place / REQUEST).exists():
        return _starting(place)
    try:
        directory = TrialDirectory.open(place)
        status = directory.standing()
    except RunError as error:
        return Trial(name=name, path=place, state="failed", reason=error.message)
    if status is None:
        return Trial(name=name, path=place, state="starting", request=directory.request)
    return Trial(
        name=name,
        path=place,
        state=status.state,
        step=status.step,
        reason=status.reason,
        request=directory.request,
    )


def shown(kind: TrialKind) -> Trial | None:
    """Return the trial that a page shows: the one of its address, or else the last one that is here."""
    if name := FIELDS[kind].value:
        return find(name)
    return next((trial for name in _names(kind) if (trial := find(name)) is not None), None)


def at_work() -> list[Trial]:
    """Return the trials that are at work, or wait for it, the oldest first."""
    starting = [started.run.name for started in runs.launcher().started() if started.run.parent == folder()]
    found = (find(name) for name in sorted({*_names("positions"), *_names("masks"), *starting}, key=_when))
    return [trial for trial in found if trial is not None and trial.is_at_work]


def start(request: TrialRequest) -> None:
    """Start a trial, and show it; the oldest of those that have ended go.

    Raises:
        RunError: too many wait already, or it cannot be started.
    """
    if len(at_work()) > MOST_WAITING:
        raise RunError("{n} trials wait already on this machine; wait until one has ended", n=MOST_WAITING)
    _forget_oldest()
    name = _free_name(request.kind)
    path = folder() / name
    runs.launcher().start(path, [*request.arguments, "--folder", str(path), "--queue"])
    FIELDS[request.kind].set(name)


def stop(trial: Trial) -> None:
    """Ask a trial to stop after its next step.

    Raises:
        RunError: its folder cannot be written.
    """
    from transformer_core.training.run import commands

    commands.ask(trial.path, "stop")


def records(trial: Trial) -> list[dict[str, Any]]:
    """Return what was measured so far.

    Raises:
        RunError: a line in the middle is damaged.
    """
    return runs.record_file(trial.path / "metrics.jsonl").read()


def seconds_for(request: TrialRequest) -> float:
    """Return how long a trial will take, by the pace of the last one of its kind and task, or of a usual machine."""
    pace = _USUAL_PACE
    for name in _names(request.kind)[:_PACE_OF]:
        trial = find(name)
        if trial is None or trial.state != "finished" or trial.request is None or trial.request.task != request.task:
            continue
        with suppress(RunError):
            seconds = max((float(line["seconds"]) for line in records(trial) if "seconds" in line), default=0.0)
            pace = seconds / (trial.request.steps * len(trial.request.arms))
            break
    return request.steps * len(request.arms) * pace


def _names(kind: TrialKind) -> list[str]:
    """Return the names of the trials of a kind that have a folder, the newest first."""
    names = (place.name for place in folder().glob(f"{kind}-*") if _NAME.fullmatch(place.name))
    return sorted(names, key=_when, reverse=True)


def _when(name: str) -> tuple[str, int]:
    """Return what orders trials by when they were started."""
    _, day, second, *number = name.split("-")
    return day + second, int(*number) if number else 0


def _starting(place: Path) -> Trial | None:
    """Return a trial that was started and has no folder yet, or that ended before it could make one."""
    for started in runs.launcher().started():
        if started.run == place:
            trouble = started.trouble()
            return Trial(name=place.name, path=place, state="failed" if trouble else "starting", reason=trouble)
    return None


def _free_name(kind: TrialKind) -> str:
    """Return a name that no trial has: its kind, and when it is started."""
    plain = f"{kind}-{time.strftime('%Y%m%d-%H%M%S')}"
    taken = {path.name for path in folder().glob("*")} | {started.run.name for started in runs.launcher().started()}
    return next(name for name in (plain, *(f"{plain}-{i}" for i in range(2, len(taken) + 3))) if name not in taken)


def _forget_oldest() -> None:
    """Delete the oldest trials that have ended, so that the new one is one of as many as are kept."""
    names = sorted([*_names("positions"), *_names("masks")], key=_when)
    ended = [trial for name in names if (trial := find(name)) is not None and not trial.is_at_work]
    for trial in ended[: max(0, len(ended) - MOST_KEPT + 1)]:
        with suppress(OSError, HeadlightError):
            runs.launcher().forget(trial.path)
            gone = trial.path.with_name(f".{trial.name}.deleted")
            trial.path.rename(gone)
            shutil.rmtree(gone)
            forget_log(folder() / ".logs" / f"{trial.name}.log")
