"""Processes that are there in hundredths of a second: each is a fork of one that has imported all a training needs."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
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


def end(process: ForkServerProcess) -> int | None:
    """Wait for a process; return its exit status, minus the signal's number if it was killed."""
    process.join(timeout=300)
    with suppress(ValueError):
        process.kill()  # only one that hangs is still there
    return process.exitcode
