"""The folder of an experiment: what was asked, how it stands, and what was measured so far.

```
experiment.json      what was asked, and the command that makes it again
status.json     as a run's: queued | running | stopped | finished | failed (with the reason), pid, heartbeat, step
metrics.jsonl   a line a step with the loss of every variant; at some steps a line more, with what was measured of all
commands/       stop
```

Whoever watches reads this folder, at any time, and writes into `commands/` alone.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from transformer_core.checkpoints.folder import write_json
from transformer_core.errors import NO_MESSAGE, ConfigError, Message, RunError
from transformer_core.reasons import reason
from transformer_core.training.experiments.experiment import ExperimentRequest
from transformer_core.training.run import commands
from transformer_core.training.run.metrics import RecordFile
from transformer_core.training.run.status import RunClaim, RunState, RunStatus, read_object, read_status, standing

REQUEST = "experiment.json"
_GONE = Message(
    "its process ended without a word: it was killed, ran out of memory, or the machine was restarted; start it again"
)


class ExperimentDirectory:
    """An experiment's folder; `create` makes a new one for this process to work on, `open` finds one to look at."""

    def __init__(self, path: Path, request: ExperimentRequest) -> None:
        """Keep the folder and what was asked; nothing is written."""
        self.path = path
        self.request = request
        self.metrics = RecordFile(path / "metrics.jsonl")
        self._claim = RunClaim(path)

    @classmethod
    def create(cls, path: Path, request: ExperimentRequest) -> Self:
        """Make the folder of a new experiment, and claim it.

        Raises:
            RunError: the folder holds something, or cannot be written.
        """
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise RunError(
                "{path} is not empty; an experiment needs a folder of its own, choose another one", path=path
            )
        directory = cls(path, request)
        try:
            path.mkdir(parents=True, exist_ok=True)
            if not directory._claim.take() or (path / REQUEST).exists():  # of two that try at once, one is later
                directory.release()
                raise RunError(
                    "another process has just begun an experiment in {path}; choose another folder", path=path
                )
            write_json(path / REQUEST, request.to_dict() | {"command": request.command}, is_durable=False)
            directory.write_status("queued", step=0)
        except OSError as error:
            directory.release()
            raise RunError(
                "{path} cannot be written ({error}); choose another folder", path=path, error=reason(error)
            ) from error
        return directory

    @classmethod
    def open(cls, path: Path) -> Self:
        """Find an experiment that was created before.

        Raises:
            RunError: the folder holds no experiment, or what it says cannot be read.
        """
        values = read_object(path / REQUEST)
        if values is None:
            raise RunError("{path} holds no experiment", path=path)
        values.pop("command", None)
        try:
            return cls(path, ExperimentRequest.from_dict(values))
        except (ConfigError, TypeError) as error:
            raise RunError(
                "{path} was written by another version and cannot be used ({error})", path=path / REQUEST, error=error
            ) from error

    def standing(self) -> RunStatus | None:
        """Return how the experiment truly stands: one whose process is gone has failed; None before its first word.

        Raises:
            RunError: status.json is damaged.
        """
        status, said = standing(self.path), read_status(self.path)
        is_gone = status is not None and status.state == "failed" and said is not None and said.is_at_work
        return replace(status, reason=_GONE) if status is not None and is_gone else status

    def write_status(self, state: RunState, *, step: int, reason: Message = NO_MESSAGE) -> None:
        """Replace status.json."""
        self._claim.write(state, step=step, reason=reason)

    def heartbeat(self, state: RunState, *, step: int, reason: Message = NO_MESSAGE) -> None:
        """Say that the experiment is alive; written every two seconds at most."""
        self._claim.heartbeat(state, step=step, reason=reason)

    def is_asked_to_stop(self) -> bool:
        """Whether the experiment was asked to stop; the request is consumed."""
        return bool(commands.take(self.path, names=("stop",)))

    def log(self, record: Mapping[str, Any]) -> None:
        """Append one line to metrics.jsonl; it has at least `step`."""
        self.metrics.append(record)

    def release(self) -> None:
        """Let go of the experiment: no process works on it any more."""
        self._claim.release()
