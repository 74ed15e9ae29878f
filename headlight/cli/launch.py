"""Trainings as separate processes that start immediately: one process with all imports done is kept ready.

With it, a training begins 0.2 s after the click; without it, after 2.4 s (two cores). The process is
`python -m transformer_core ready`: it imports everything for a training, and waits for its command line.
"""

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from transformer_core.errors import NO_MESSAGE, HeadlightError, Message, RunError
from transformer_core.reasons import reason

_ROOT = Path(__file__).resolve().parents[2]  # where `python -m transformer_core` finds the package
_NICENESS = 5  # the app's pages come first
_COMMAND = (sys.executable, "-P", "-m", "transformer_core", "ready")


@dataclass(frozen=True)
class Started:
    """A started training, whose folder may not exist yet."""

    run: Path
    log: Path
    process: subprocess.Popen[str]
    time: float  # when, seconds since 1970 (UTC)

    def trouble(self) -> Message:
        """Return why the process ended before writing a status; empty while it works, or if it succeeded."""
        status = self.process.poll()
        if status is None or status == 0:
            return NO_MESSAGE
        with suppress(OSError, TypeError, ValueError):
            return Message.from_json(json.loads(error_file(self.log).read_text(encoding="utf-8")))
        return Message(
            "the training ended immediately (exit status {status}); its output is in {log}",
            status=status,
            log=self.log,
        )


def forget_log(log: Path) -> None:
    """Delete the output of a command, and its error."""
    log.unlink(missing_ok=True)
    error_file(log).unlink(missing_ok=True)


def error_file(log: Path) -> Path:
    """Return the file for the error that ends a command, beside its output."""
    return log.with_suffix(".error.json")


class Launcher:
    """Starts trainings that outlive this process and print into a file; thread-safe.

    Args:
        folder: their working directory.
        max_memory: bytes that each may allocate (on Linux); None: no limit.
    """

    def __init__(self, folder: Path = _ROOT, max_memory: int | None = None) -> None:
        self._folder = folder
        self._max_memory = max_memory
        self._lock = threading.Lock()
        self._ready: subprocess.Popen[str] | None = None
        self._started: list[Started] = []

    def warm_up(self) -> None:
        """Start a ready process unless there is one."""
        with self._lock:
            self._ready_process()

    def start(self, run: Path, arguments: Sequence[str], *, waits: bool = False) -> Started:
        """Start `python -m transformer_core ARGUMENTS`.

        Args:
            run: the folder of the training.
            arguments: the command and its options, including `--run`.
            waits: True for a run that has to wait: its process has imported nothing yet.

        Raises:
            RunError: no process can be started, or the runs' folder cannot be written.
        """
        log = run.parent / ".logs" / f"{run.name}.log"
        with self._lock:
            try:
                log.parent.mkdir(parents=True, exist_ok=True)
                forget_log(log)
                process = self._hand_over(json.dumps({"arguments": [*arguments], "log": str(log)}), is_bare=waits)
            except OSError as error:
                raise RunError(
                    "the training cannot be started ({error}); free some memory or disk space", error=reason(error)
                ) from error
            self._started = [*self._not_done(), Started(run, log, process, time.time())]
            return self._started[-1]

    def started(self) -> list[Started]:
        """Return the trainings of this launcher that work or have failed."""
        with self._lock:
            return self._not_done()

    def forget(self, run: Path) -> None:
        """Forget a failed training."""
        with self._lock:
            self._started = [started for started in self._started if started.run != run]

    def close(self) -> None:
        """End the ready process; trainings continue."""
        with self._lock:
            if self._ready is not None:
                self._ready.kill()  # it has nothing to lose
                self._ready.communicate()
                self._ready = None

    def _not_done(self) -> list[Started]:
        return [started for started in self._started if started.process.poll() != 0]

    def _hand_over(self, line: str, *, is_bare: bool) -> "subprocess.Popen[str]":
        """Write a line to the ready process or, if that has died, to a new one; or to one without imports."""
        for _ in range(2):
            if is_bare:
                process = self._new("--bare")
            else:
                process, self._ready = self._ready_process(), None
            assert process.stdin is not None, "it was started with a pipe"
            with suppress(BrokenPipeError), process.stdin:
                process.stdin.write(line + "\n")
                process.stdin.flush()
                return process
            process.wait()
        raise OSError(Message("the training process ended before it started training"))

    def _ready_process(self) -> "subprocess.Popen[str]":
        if self._ready is None or self._ready.poll() is not None:
            if self._ready is not None:
                with suppress(BrokenPipeError):
                    self._ready.communicate()
            self._ready = self._new()
        return self._ready

    def _new(self, *options: str) -> "subprocess.Popen[str]":
        python_path = (str(_ROOT), os.environ.get("PYTHONPATH"))
        process = subprocess.Popen(
            (*_COMMAND, *options),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
            cwd=self._folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, python_path))},
        )
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, process.pid, _NICENESS)
        if self._max_memory is not None and sys.platform == "linux":
            import resource

            resource.prlimit(process.pid, resource.RLIMIT_DATA, (self._max_memory, self._max_memory))
        return process


def add_command(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", run_command: Callable[[Sequence[str]], int]
) -> None:
    """Add `ready` to the commands.

    Args:
        commands: of the command line.
        run_command: runs the command that is received.
    """
    parser = commands.add_parser(
        "ready",
        help="import everything for a training, then wait for its command line on standard input",
        description="Import everything for a training, then read one line from standard input: a JSON object with "
        "`arguments`, those of another command as a list, and `log`, the file for that command's output.",
    )
    parser.add_argument("--bare", action="store_true", help="import nothing first: the command must wait anyway")
    parser.set_defaults(run_command=partial(wait_and_run, run_command))


def wait_and_run(run_command: Callable[[Sequence[str]], int], options: argparse.Namespace) -> int:
    """Wait for a command and run it; return its status, or 0 if none is received."""
    if not options.bare:
        import_all()
    line = sys.stdin.readline()
    if not line.strip():  # the parent process is gone
        return 0
    try:
        request = json.loads(line)
        arguments, log = [str(argument) for argument in request["arguments"]], str(request["log"])
    except (KeyError, TypeError, ValueError) as error:
        raise HeadlightError(
            "standard input must contain a JSON object with arguments and log; got {error}", error=reason(error)
        ) from error
    _turn_to(log)
    try:
        return run_command(arguments)
    except HeadlightError as error:  # the parent shows it in the reader's language
        with suppress(OSError):
            error_file(Path(log)).write_text(json.dumps(error.message.as_json()), encoding="utf-8")
        raise


def import_all() -> None:
    """Import everything for a training, and run one step so that torch starts its threads and loads its libraries."""
    import torch

    import headlight.analysis.heads.measures
    import headlight.experiments.work  # noqa: F401
    import transformer_core.training.run.begin
    import transformer_core.training.run.worker  # noqa: F401

    torch.nn.Linear(8, 8)(torch.ones(2, 8)).sum().backward()


def _turn_to(log: str) -> None:
    """Redirect output to a file and input from the null device, so that the parent process may end."""
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for stream, descriptor in ((nothing, 0), (out, 1), (out, 2)):
        os.dup2(stream, descriptor)
    os.close(out)
    os.close(nothing)
