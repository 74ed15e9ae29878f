"""metrics.jsonl and its like: one JSON object a line, appended to; a torn last line is ignored."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformer_core.errors import RunError
from transformer_core.language import say


class RecordFile:
    """A file of records, each of which has a `step`; steps only rise.

    Args:
        path: it need not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, record: Mapping[str, Any]) -> None:
        """Append one line; `record` has at least `step`."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, allow_nan=False, separators=(",", ":")) + "\n")

    def read(self) -> list[dict[str, Any]]:
        """Return the records; a torn last one is left out.

        Raises:
            RunError: another line is damaged.
        """
        return [record for record, _ in self._lines()]

    def rewind(self, *, step: int) -> None:
        """Forget what was written after a step, and a torn last line: a run that goes on from there writes it again."""
        kept = [n_bytes for record, n_bytes in self._lines() if record["step"] <= step]
        if self.path.exists():
            os.truncate(self.path, sum(kept))  # steps only rise: what is kept is the beginning

    def _lines(self) -> list[tuple[dict[str, Any], int]]:
        """Return the complete lines, each as its record and its length in bytes."""
        try:
            lines = self.path.read_bytes().split(b"\n")[:-1]
        except FileNotFoundError:
            return []
        try:
            records = [json.loads(line) for line in lines]
            if not all(isinstance(record, dict) and type(record.get("step")) is int for record in records):
                raise ValueError(say("a line is no record of a step"))
        except ValueError as error:  # not JSON, or not UTF-8
            raise RunError(
                say(
                    "{path} is damaged ({error}); move it away, and --resume goes on without it",
                    path=self.path,
                    error=error,
                )
            ) from error
        return [(record, len(line) + 1) for record, line in zip(records, lines, strict=True)]
