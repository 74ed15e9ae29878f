"""What is asked of a run while it is trained: a file each in `commands/`, removed when taken."""

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
"""`look` asks for the current weights in `now/`; `learning-rate` says by what the scheduled one is multiplied."""

_NAMES: tuple[CommandName, ...] = get_args(CommandName)
_FOLDER = "commands"


class Command(NamedTuple):
    """One thing that is asked."""

    name: CommandName
    value: float = 1.0  # of `learning-rate` the factor, of `step` how many; the others have none


def ask(run: Path, name: CommandName, value: float = 1.0) -> None:
    """Ask something of a run; the same thing asked again before it was taken replaces what was asked before.

    Raises:
        RunError: the value is no number above 0, or the run's folder cannot be written.
    """
    if not _is_possible(value):
        raise RunError("{name} must be a number above 0, got {value!r}", name=name, value=value)
    folder = run / _FOLDER
    new, now = folder / f".{name}.{uuid4().hex}", time.time_ns()
    try:
        folder.mkdir(exist_ok=True)
        try:
            new.write_text(f"{value!r}\n", encoding="utf-8")
            os.utime(new, ns=(now, now))  # the system's own stamp is coarse: what is asked at once would lose its order
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
    """Return what was asked and not yet taken."""
    return [name for name in _NAMES if (run / _FOLDER / name).exists()]


def take(run: Path, names: Collection[str] = _NAMES) -> list[Command]:
    """Take the commands, the oldest first; unreadable and unknown ones are dropped.

    Args:
        run: the run's folder.
        names: what to take; the rest waits on.
    """
    folder = run / _FOLDER
    try:
        names_there = [entry.name for entry in os.scandir(folder) if entry.name in names]
    except (FileNotFoundError, NotADirectoryError):
        return []
    taken: list[tuple[int, Command]] = []
    for name in names_there:
        mine = _taken(folder, name)
        with suppress(OSError, ValueError):
            (folder / name).replace(mine)  # what is asked from now on is another file
            value, asked_ns = float(mine.read_text(encoding="utf-8")), mine.stat().st_mtime_ns
            if _is_possible(value):
                taken.append((asked_ns, Command(name, value)))  # type: ignore[arg-type]  # one of the names
        with suppress(OSError):
            mine.unlink()
    return [command for _, command in sorted(taken, key=itemgetter(0))]


def clear(run: Path) -> None:
    """Forget what was asked of a process that is no longer there, also what that was killed while taking."""
    take(run)
    for name in _NAMES:
        with suppress(OSError):
            _taken(run / _FOLDER, name).unlink()


def _taken(folder: Path, name: str) -> Path:
    """Return where a command lies while it is taken: only the run's process touches it there."""
    return folder / f".{name}.taken"


def _is_possible(value: float) -> bool:
    return math.isfinite(value) and value > 0
