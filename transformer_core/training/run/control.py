"""Between two steps: what is asked of a run is done, and a paused one waits."""

import time
from collections.abc import Callable
from typing import NamedTuple

from transformer_core.errors import NO_MESSAGE, Message
from transformer_core.training.run import commands
from transformer_core.training.run.job import Job

_POLL_SECONDS = 0.05


class ControlSignal(NamedTuple):
    """What the next step must know; the same in all processes."""

    stop: Message = NO_MESSAGE  # why to stop; none: go on
    rate_factor: float | None = None  # by what the scheduled learning rate is multiplied from now on; None: as before


class Control:
    """Takes the commands of one run; only the first of several processes has one.

    Args:
        job: at work.
        stop_reason: asked after each step; a text means: stop for that reason.
        take_snapshot: adds this snapshot to the film.
        log: logs the last step, unless that was done: where a run rests, all that is told of it is of one step.
    """

    def __init__(
        self, job: Job, stop_reason: Callable[[], str], take_snapshot: Callable[[], None], log: Callable[[], None]
    ) -> None:
        self._job = job
        self._stop_reason = stop_reason
        self._take_snapshot = take_snapshot
        self._log = log
        self._is_paused = False
        self._n_single = 0  # steps to do before it is paused again
        self.paused_seconds = 0.0

    def between_steps(self) -> ControlSignal:
        """Do what is asked, wait while the run is paused, and return how to go on."""
        stop = NO_MESSAGE
        rate_factor: float | None = None
        waits_since: float | None = None
        while True:
            for command in commands.take(self._job.directory.path):
                if command.name == "stop":
                    stop = Message("somebody stopped it")
                elif command.name == "learning-rate":
                    rate_factor = command.value
                else:
                    self._do(command)
            stop = stop or Message(self._stop_reason())
            if stop or not self._is_paused or self._n_single:
                break
            if waits_since is None:
                waits_since = time.perf_counter()
                self._log()
                self._job.save()  # nothing is lost, whatever happens during the pause
                self._job.directory.write_status("paused", step=self._job.step)
            self._job.directory.heartbeat("paused", step=self._job.step)
            time.sleep(_POLL_SECONDS)
        if stop:
            self._log()
        self._n_single = max(0, self._n_single - 1)
        if waits_since is not None:
            self.paused_seconds += time.perf_counter() - waits_since
            if not self._is_paused and not stop:
                self._job.directory.write_status("running", step=self._job.step)
        return ControlSignal(stop=stop, rate_factor=rate_factor)

    def _do(self, command: commands.Command) -> None:
        if command.name == "pause":
            self._is_paused, self._n_single = True, 0
        elif command.name == "resume":
            self._is_paused, self._n_single = False, 0
        elif command.name == "step":  # of a run that is not paused: the last steps before it is
            self._is_paused = True
            self._n_single += max(1, int(command.value))
        elif command.name == "snapshot":
            self._take_snapshot()
        elif command.name == "look":
            self._job.directory.film.look(self._job.step, self._job.model)
