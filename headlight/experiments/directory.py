"""The folder of an experiment: what was asked, how it stands, and what was measured so far.

```
experiment.json      what was asked, and the command that makes it again
status.json     as a run's: queued | running | stopped | finished | failed (with the reason), pid, heartbeat, step
metrics.jsonl   a line a step with the loss of every variant; at some steps a line more, with what was measured of all
commands/       stop
```

Whoever watches reads this folder, at any time, and writes into `commands/` alone.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Self

from headlight.experiments.experiment import ExperimentRequest
from transformer_core.errors import Message, RunError
from transformer_core.training.run import commands
from transformer_core.training.run.queue import QueueTurn, wait_for_place
from transformer_core.training.run.records import read_request
from transformer_core.training.run.status import WorkDirectory

REQUEST = "experiment.json"
LINE = "experiments"  # of those who wait; an experiment is short, and need not wait for runs that take hours
AT_ONCE = 1


class ExperimentDirectory(WorkDirectory):
    """An experiment's folder; `create` makes a new one for this process to work on, `open` finds one to look at."""

    gone = Message(
        "its process ended unexpectedly: it was killed, ran out of memory, or the machine was restarted; start it again"
    )

    def __init__(self, path: Path, request: ExperimentRequest) -> None:
        """Keep the folder and what was asked; nothing is written."""
        super().__init__(path)
        self.request = request

    @classmethod
    def create(cls, path: Path, request: ExperimentRequest) -> Self:
        """Make the folder of a new experiment, and claim it.

        Raises:
            RunError: the folder holds something, or cannot be written.
        """
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise RunError("{path} is not empty; choose another folder for the experiment", path=path)
        directory = cls(path, request)
        taken = Message("another process has just started an experiment in {path}; choose another folder")
        directory.begin(REQUEST, asdict(request) | {"command": request.command}, taken=taken)
        return directory

    @classmethod
    def open(cls, path: Path) -> Self:
        """Find an experiment that was created before.

        Raises:
            RunError: the folder holds no experiment, or what it says cannot be read.
        """
        missing = Message("{path} does not contain an experiment")
        return cls(path, read_request(path / REQUEST, ExperimentRequest.from_dict, missing=missing))

    @contextmanager
    def turn(self, stop_reason: Callable[[], str]) -> Iterator[QueueTurn | None]:
        """Wait while another experiment is at work on this machine, then have others wait; None: a stop was requested.

        Args:
            stop_reason: asked while it waits; a text means: wait no longer.
        """

        def is_wanted(n_before: int) -> bool:
            self.heartbeat("queued", step=0, reason=Message(str(n_before)))
            return not stop_reason() and not self.is_asked_to_stop()

        turn = wait_for_place(is_wanted=is_wanted, line=LINE, most=AT_ONCE)
        try:
            if turn is None:
                self.write_status("stopped", step=0)
                self.release()
            yield turn
        finally:
            if turn is not None:
                turn.release()

    def is_asked_to_stop(self) -> bool:
        """Whether the experiment was asked to stop; the request is consumed."""
        return bool(commands.take(self.path, names=("stop",)))
