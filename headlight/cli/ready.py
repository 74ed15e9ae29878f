"""`python -m transformer_core ready`: a process that imports everything for a training, and waits for its command.

Importing torch takes seconds. A program that starts trainings at a click keeps one such process ready, and sends it a
command line.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from headlight.cli.launch import error_file
from transformer_core.errors import HeadlightError
from transformer_core.reasons import reason


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
    parser.set_defaults(run_command=partial(run, run_command))


def run(run_command: Callable[[Sequence[str]], int], options: argparse.Namespace) -> int:
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
    """Import everything for a training, and let torch start its threads and load its libraries by a first step."""
    import torch

    import headlight.analysis.heads.measures
    import headlight.experiments.work  # noqa: F401
    import transformer_core.training.run.begin
    import transformer_core.training.run.worker  # noqa: F401

    torch.nn.Linear(8, 8)(torch.ones(2, 8)).sum().backward()


def _turn_to(log: str) -> None:
    """Redirect output to a file, and input from nothing, so that the parent process may end."""
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for stream, descriptor in ((nothing, 0), (out, 1), (out, 2)):
        os.dup2(stream, descriptor)
    os.close(out)
    os.close(nothing)
