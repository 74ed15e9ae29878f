"""Commands are executed between two steps, where a paused run waits."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from transformer_core.errors import NO_MESSAGE, Message
from transformer_core.training.run import commands
from transformer_core.training.run.job import Job

_POLL_SECONDS = 0.05


class ControlSignal(NamedTuple):
    """How to continue; the same in all processes."""

    stop: Message = NO_MESSAGE  # the reason to stop, if any
    rate_factor: float | None = None  # multiplies the scheduled learning rate from now on; None: unchanged


@dataclass
class Control:
    """Executes the commands to a run, in the first of its processes."""

    job: Job
    stop_reason: Callable[[], str]  # called after each step; a text stops the run for that reason
    take_snapshot: Callable[[], None]  # adds a snapshot to the film
    log: Callable[[], None]  # logs the last step if it is not logged yet, so that a paused run is consistent
    paused_seconds: float = 0.0
    _is_paused: bool = False
    _n_single: int = 0  # steps before the next pause

    def between_steps(self) -> ControlSignal:
        """Execute commands, wait while the run is paused, and return how to continue."""
        stop, directory = NO_MESSAGE, self.job.directory
        rate_factor: float | None = None
        waits_since: float | None = None
        while True:
            for command in commands.take(directory.path):
                if command.name == "stop":
                    stop = Message("stopped by the user")
                elif command.name == "learning-rate":
                    rate_factor = command.value
                else:
                    self._do(command)
            stop = stop or Message(self.stop_reason())
            if stop or not self._is_paused or self._n_single:
                break
            if waits_since is None:
                waits_since = time.perf_counter()
                self.log()
                self.job.save()  # nothing is lost, whatever happens during the pause
                directory.write_status("paused", step=self.job.step)
            directory.heartbeat("paused", step=self.job.step)
            time.sleep(_POLL_SECONDS)
        if stop:
            self.log()
        self._n_single = max(0, self._n_single - 1)
        if waits_since is not None:
            self.paused_seconds += time.perf_counter() - waits_since
            if not self._is_paused and not stop:
                directory.write_status("running", step=self.job.step)
        return ControlSignal(stop=stop, rate_factor=rate_factor)

    def _do(self, command: commands.Command) -> None:
        match command.name:
            case "pause":
                self._is_paused, self._n_single = True, 0
            case "resume":
                self._is_paused, self._n_single = False, 0
            case "step":  # pauses a running run after these steps
                self._is_paused = True
                self._n_single += max(1, int(command.value))
            case "snapshot":
                self.take_snapshot()
            case "look":
                self.job.directory.film.look(self.job.step, self.job.model)
