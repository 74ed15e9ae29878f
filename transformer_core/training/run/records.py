"""The JSON files of a run: objects, and records of one line each, such as metrics.jsonl."""

import json
import os
from collections.abc import Callable, Mapping
from io import BufferedIOBase
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from transformer_core.errors import ConfigError, HeadlightError, Message, RunError
from transformer_core.reasons import reason

Request = TypeVar("Request")

_IN_MEMORY = 8  # approximate bytes of memory per byte of a line


class RecordFile:
    """A file of records with rising `step`s, one JSON object per line; a torn last line is ignored. Thread-safe."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()
        self._forget()

    @property
    def n_bytes(self) -> int:
        """Approximate memory that the records take, in bytes."""
        return _IN_MEMORY * self._n_bytes

    def append(self, record: Mapping[str, Any]) -> None:
        """Append a record, which must contain `step`, as one line."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, allow_nan=False, separators=(",", ":")) + "\n")

    def read(self) -> list[dict[str, Any]]:
        """Return the records, which must not be changed, without a torn last line.

        Later calls read only new lines, unless the file was cut or replaced.

        Raises:
            RunError: a line is damaged, or the file cannot be read.
        """
        _refuse_pipe(self.path)
        with self._lock:
            try:
                with self.path.open("rb") as file:
                    self._catch_up(file)
            except FileNotFoundError:
                self._forget()
            except OSError as error:
                raise RunError("{path} cannot be read ({error})", path=self.path, error=reason(error)) from error
            return [*self._records]

    def rewind(self, *, step: int) -> None:
        """Delete the records after a step, and a torn last line: a resumed run writes them again."""
        if not self.path.exists():
            return
        lines = _complete_lines(self.path.read_bytes())
        kept = [len(line) for record, line in zip(self._parsed(lines), lines, strict=True) if record["step"] <= step]
        os.truncate(self.path, sum(kept))  # steps only increase, so the kept records are the first ones

    def _forget(self) -> None:
        self._records: list[dict[str, Any]] = []
        self._n_bytes = 0  # of the lines that were read
        self._first_line = self._last_line = b""
        self._inode = -1

    def _catch_up(self, file: BufferedIOBase) -> None:
        """Read new lines if the first and the last known line are unchanged, else the whole file.

        A file that replaced another one may have the same inode.
        """
        inode = os.fstat(file.fileno()).st_ino
        is_same = inode == self._inode and file.read(len(self._first_line)) == self._first_line
        if is_same:
            file.seek(self._n_bytes - len(self._last_line))
            content = file.read()
        if not is_same or not content.startswith(self._last_line):
            self._forget()
            file.seek(0)
            content = file.read()
        lines = _complete_lines(content[len(self._last_line) :])
        self._records += self._parsed(lines)
        self._n_bytes += sum(map(len, lines))
        self._first_line = self._first_line or (lines[0] if lines else b"")
        self._last_line = lines[-1] if lines else self._last_line
        self._inode = inode

    def _parsed(self, lines: list[bytes]) -> list[dict[str, Any]]:
        """Return the records of complete lines."""
        try:
            records = [json.loads(line) for line in lines]
            steps = [record.get("step") if isinstance(record, dict) else None for record in records]
            if not all(type(step) is int and 0 <= step < 2**63 for step in steps):
                raise HeadlightError("a line does not contain the metrics of a step")
        except ValueError as error:  # not JSON, or not UTF-8
            raise RunError(
                "{path} is damaged ({error}); move it elsewhere, and --resume continues without it",
                path=self.path,
                error=reason(error),
            ) from error
        return records


def _refuse_pipe(path: Path) -> None:
    """Check that a path is not a pipe or device, since reading it might never end."""
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise RunError("{path} is damaged: it is not a file", path=path)


def _complete_lines(content: bytes) -> list[bytes]:
    """Return the complete lines with their newlines, without a torn last line."""
    return [line + b"\n" for line in content.split(b"\n")[:-1]]


def read_request(path: Path, parse: Callable[[dict[str, Any]], Request], *, missing: Message) -> Request:
    """Return the request of a run or an experiment from its JSON file.

    Args:
        path: the file.
        parse: builds the request from its values.
        missing: the error message if there is no such file; {path} in it is the folder.

    Raises:
        RunError: the file is missing or damaged.
    """
    values = read_object(path)
    if values is None:
        raise RunError(missing, path=path.parent)
    try:
        return parse(values)
    except (AttributeError, ConfigError, KeyError, TypeError, ValueError) as error:
        raise RunError(
            "{path} was written by another version and cannot be used ({error})", path=path, error=error
        ) from error


def read_object(path: Path) -> dict[str, Any] | None:
    """Return the object of a run's JSON file, None if there is no such file.

    Raises:
        RunError: it is damaged, or cannot be read.
    """
    _refuse_pipe(path)
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (RecursionError, ValueError) as error:  # nested too deeply; not JSON, or not UTF-8
        raise RunError("{path} is damaged and cannot be read ({error})", path=path, error=reason(error)) from error
    except OSError as error:
        raise RunError("{path} cannot be read ({error})", path=path, error=reason(error)) from error
    if not isinstance(values, Mapping):
        raise RunError("{path} is damaged: it does not contain a JSON object", path=path)
    return dict(values)
