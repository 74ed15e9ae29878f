"""Between two steps: what is asked of a run is done, and a paused one waits."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from transformer_core.errors import NO_MESSAGE, Message
from transformer_core.training.run import commands
from transformer_core.training.run.job import Job

_POLL_SECONDS = 0.05


class ControlSignal(NamedTuple):
    """What the next step must know; the same in all processes."""

    stop: Message = NO_MESSAGE  # why to stop; none: go on
    rate_factor: float | None = None  # by what the scheduled learning rate is multiplied from now on; None: as before


@dataclass
class Control:
    """Takes the commands of one run; only the first of several processes has one."""

    job: Job  # at work
    stop_reason: Callable[[], str]  # asked after each step; a text means: stop for that reason
    take_snapshot: Callable[[], None]  # adds this snapshot to the film
    log: Callable[[], None]  # logs the last step, unless that was done: where a run rests, all is of one step
    paused_seconds: float = 0.0
    _is_paused: bool = False
    _n_single: int = 0  # steps to do before it is paused again

    def between_steps(self) -> ControlSignal:
        """Do what is asked, wait while the run is paused, and return how to go on."""
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
            case "step":  # of a run that is not paused: the last steps before it is
                self._is_paused = True
                self._n_single += max(1, int(command.value))
            case "snapshot":
                self.take_snapshot()
            case "look":
                self.job.directory.film.look(self.job.step, self.job.model)
