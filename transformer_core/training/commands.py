"""What is asked of a run while it is trained: a file each in `commands/`, removed when taken."""

import os
from pathlib import Path
from typing import Literal, NamedTuple, get_args
from uuid import uuid4

from transformer_core.errors import RunError

CommandName = Literal["pause", "resume", "step", "stop", "snapshot", "look", "learning-rate"]
"""`look` wants the weights of this moment in `now/`; `learning-rate` says by what the scheduled one is multiplied."""

_FOLDER = "commands"


class Command(NamedTuple):
    """One thing that is asked."""

    name: CommandName
    value: float = 1.0  # of `learning-rate` the factor, of `step` how many; the others have none


def ask(run: Path, name: CommandName, value: float = 1.0) -> None:
    """Ask something of a run; the same thing asked again before it was taken replaces what was asked before.

    Raises:
        RunError: the run's folder cannot be written.
    """
    folder = run / _FOLDER
    try:
        folder.mkdir(exist_ok=True)
        new = folder / f".{name}.{uuid4().hex}"
        new.write_text(f"{value!r}\n", encoding="utf-8")
        new.replace(folder / name)
    except OSError as error:
        raise RunError(f"{folder} cannot be written ({error.strerror}), so the run cannot be told: {name}") from error


def waiting(run: Path) -> list[CommandName]:
    """Return what was asked and not yet taken."""
    return [name for name in get_args(CommandName) if (run / _FOLDER / name).exists()]


def take(run: Path) -> list[Command]:
    """Take what was asked, the oldest first; what nobody can read is dropped."""
    folder = run / _FOLDER
    try:
        found = [entry for entry in os.scandir(folder) if entry.name in get_args(CommandName)]
    except FileNotFoundError:
        return []
    commands = []
    for entry in sorted(found, key=lambda entry: entry.stat().st_mtime_ns):
        try:
            text = Path(entry.path).read_text(encoding="utf-8")
            os.unlink(entry.path)
            commands.append(Command(entry.name, float(text)))  # type: ignore[arg-type]  # one of the names, as was seen
        except (OSError, ValueError):
            continue
    return commands


def clear(run: Path) -> None:
    """Forget what was asked of a process that is no longer there."""
    take(run)
