"""Processes that start immediately: forks of one that has imported everything for a training."""

import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from types import ModuleType
from typing import Any

CONTEXT = get_context("forkserver")
CONTEXT.set_forkserver_preload(["tests.training.warm"])


def start(target: Callable[..., None], *arguments: Any) -> ForkServerProcess:
    """Start a process that calls a function of a module; without the tests' checks of types, and with one thread."""
    process = CONTEXT.Process(target=_act, args=(dict(os.environ), target, *arguments))
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")  # a new process imports it; tests of pages leave the app there
    try:
        process.start()
    finally:
        sys.modules["__main__"] = main
    return process


def _act(environment: dict[str, str], target: Callable[..., None], *arguments: Any) -> None:
    os.environ.clear()  # that of the process which it is a fork of
    os.environ.update(environment)
    target(*arguments)


class Command:
    """A command of ours in a separate process.

    Args:
        log: two files beside it take what the command prints.
        arguments: of the command line.
    """

    def __init__(self, log: Path, *arguments: str) -> None:
        self._out, self._err = log.with_suffix(".out"), log.with_suffix(".err")
        for file in (self._out, self._err):
            file.unlink(missing_ok=True)
            file.touch()
        self.process = start(_run, self._out, self._err, arguments)
        self.pid = self.process.pid

    @property
    def out(self) -> str:
        """What was printed so far."""
        return self._out.read_text(encoding="utf-8")

    @property
    def err(self) -> str:
        """What was printed on the standard error so far."""
        return self._err.read_text(encoding="utf-8")

    def signal(self, number: signal.Signals) -> None:
        assert self.pid is not None
        os.kill(self.pid, number)

    def wait(self) -> tuple[int | None, str, str]:
        """Wait until it has ended; return its status and what it printed."""
        status = end(self.process)
        return status, self.out, self.err


def _run(out: Path, err: Path, arguments: tuple[str, ...]) -> None:
    from headlight.cli.main import main

    signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background ignores it
    for file, descriptor in ((out, 1), (err, 2)):
        os.dup2(os.open(file, os.O_WRONLY | os.O_APPEND), descriptor)
    sys.exit(main(arguments))


def until(is_so: Callable[[], object]) -> None:
    """Wait for something, five minutes at most."""
    deadline = time.monotonic() + 300
    while not is_so():
        assert time.monotonic() < deadline, "it did not come within five minutes"
        time.sleep(0.005)


def end(process: ForkServerProcess) -> int | None:
    """Wait for a process; return its exit status, minus the signal's number if it was killed."""
    process.join(timeout=300)
    with suppress(ValueError):
        process.kill()  # only one that hangs is still there
    return process.exitcode
