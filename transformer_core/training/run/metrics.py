"""metrics.jsonl and its like: one JSON object a line, appended to; a torn last line is ignored."""

import json
import os
from collections.abc import Mapping
from io import BufferedIOBase
from pathlib import Path
from threading import Lock
from typing import Any

from transformer_core.errors import HeadlightError, RunError
from transformer_core.reasons import reason

_IN_MEMORY = 8  # bytes that a byte of a line takes once it is read, about


class RecordFile:
    """A file of records, each of which has a `step`; steps only rise. Thread-safe.

    Args:
        path: it need not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()
        self._forget()

    @property
    def n_bytes(self) -> int:
        """About the memory that the records take, in bytes."""
        return _IN_MEMORY * self._n_bytes

    def append(self, record: Mapping[str, Any]) -> None:
        """Append one line; `record` has at least `step`."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, allow_nan=False, separators=(",", ":")) + "\n")

    def read(self) -> list[dict[str, Any]]:
        """Return the records, which are not to be changed; a torn last one is left out.

        What was read before is remembered: another call reads only what was appended since, unless the file was cut or
        replaced.

        Raises:
            RunError: another line is damaged, or it cannot be read.
        """
        refuse_what_is_no_file(self.path)
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
        """Forget what was written after a step, and a torn last line: a run that goes on from there writes it again."""
        if not self.path.exists():
            return
        lines = _complete_lines(self.path.read_bytes())
        kept = [len(line) for record, line in zip(self._parsed(lines), lines, strict=True) if record["step"] <= step]
        os.truncate(self.path, sum(kept))  # steps only rise: what is kept is the beginning

    def _forget(self) -> None:
        self._records: list[dict[str, Any]] = []
        self._n_bytes = 0  # of the lines that were read
        self._first_line = self._last_line = b""
        self._inode = -1

    def _catch_up(self, file: BufferedIOBase) -> None:
        """Read on from where the last reading ended, if its first and its last line still stand there; else all anew.

        A file that took the place of another one may have its inode, too.
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


def refuse_what_is_no_file(path: Path) -> None:
    """Check that what lies in the place of a run's file is one: of a pipe, reading never ends.

    Raises:
        RunError: it is not.
    """
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise RunError("{path} is damaged: it is not a file", path=path)


def _complete_lines(content: bytes) -> list[bytes]:
    """Return the lines with their ends; one without is torn, and is left out."""
    return [line + b"\n" for line in content.split(b"\n")[:-1]]
