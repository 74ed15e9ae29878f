"""Commands to a running training: one file each in `commands/`, removed when taken."""

import math
import os
import time
from collections.abc import Collection
from contextlib import suppress
from operator import itemgetter
from pathlib import Path
from typing import Literal, NamedTuple, get_args
from uuid import uuid4

from transformer_core.errors import RunError
from transformer_core.reasons import reason

CommandName = Literal["pause", "resume", "step", "stop", "snapshot", "look", "learning-rate"]
"""`look` requests the current weights in `now/`; `learning-rate` multiplies the scheduled one."""

_NAMES: tuple[CommandName, ...] = get_args(CommandName)
_FOLDER = "commands"


class Command(NamedTuple):
    """A command and its value."""

    name: CommandName
    value: float = 1.0  # the factor of `learning-rate`, or the number of steps of `step`; unused by other commands


def ask(run: Path, name: CommandName, value: float = 1.0) -> None:
    """Send a command to a run; it replaces an earlier one of the same name that has not been taken.

    Raises:
        RunError: the value is not a number above 0, or the run's folder cannot be written.
    """
    if not _is_possible(value):
        raise RunError("{name} must be a number above 0, got {value!r}", name=name, value=value)
    folder = run / _FOLDER
    new, now = folder / f".{name}.{uuid4().hex}", time.time_ns()
    try:
        folder.mkdir(exist_ok=True)
        try:
            new.write_text(f"{value!r}\n", encoding="utf-8")
            os.utime(new, ns=(now, now))  # the system's own time is too coarse to order commands
            new.replace(folder / name)
        finally:
            new.unlink(missing_ok=True)
    except OSError as error:
        raise RunError(
            "{folder} cannot be written ({error}), so the command {name} did not reach the run",
            folder=folder,
            error=reason(error),
            name=name,
        ) from error


def waiting(run: Path) -> list[CommandName]:
    """Return the commands that have not been taken yet."""
    return [name for name in _NAMES if (run / _FOLDER / name).exists()]


def take(run: Path, names: Collection[str] = _NAMES) -> list[Command]:
    """Take the commands with the given names, oldest first; unreadable ones are dropped."""
    folder = run / _FOLDER
    try:
        names_there = [entry.name for entry in os.scandir(folder) if entry.name in names]
    except (FileNotFoundError, NotADirectoryError):
        return []
    taken: list[tuple[int, Command]] = []
    for name in names_there:
        mine = _taken(folder, name)
        with suppress(OSError, ValueError):
            (folder / name).replace(mine)  # a later command is written to a new file
            value, asked_ns = float(mine.read_text(encoding="utf-8")), mine.stat().st_mtime_ns
            if _is_possible(value):
                taken.append((asked_ns, Command(name, value)))  # type: ignore[arg-type]  # one of the names
        with suppress(OSError):
            mine.unlink()
    return [command for _, command in sorted(taken, key=itemgetter(0))]


def clear(run: Path) -> None:
    """Delete the commands for a process that has ended, including those that it was taking."""
    take(run)
    for name in _NAMES:
        with suppress(OSError):
            _taken(run / _FOLDER, name).unlink()


def _taken(folder: Path, name: str) -> Path:
    """Return the path of a command while the run's process takes it."""
    return folder / f".{name}.taken"


def _is_possible(value: float) -> bool:
    return math.isfinite(value) and value > 0
