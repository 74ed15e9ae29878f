"""The commands, and what all of them share: how an error is told, and what the exit status says."""

import argparse
import os
import sys
from collections.abc import Sequence

from transformer_core import __version__
from transformer_core.cli import compile_, decode, experiment, first_view, import_, inspect, ready, train
from transformer_core.errors import HeadlightError
from transformer_core.reasons import reason

PROGRAM = "python -m transformer_core"
_MOST_NAMED = 200  # characters of a path
APP_HELP = (
    "Without a command, the app starts. It takes Streamlit’s options, such as --server.port 9000, and --shared for a "
    "server that several people use."
)


def main(arguments: Sequence[str], program: str = PROGRAM) -> int:
    """Run a command; return 0 when done, 2 for an error that a person can mend, 128 + n where signal n stopped it."""
    try:
        status = run(arguments, program)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # who read what is printed has seen enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what the interpreter still flushes
        return 128 + 13  # SIGPIPE
    except HeadlightError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except OSError as error:  # of a place that a person named: no room, no permission, no such path
        place = f"{str(error.filename)[:_MOST_NAMED]}: " if error.filename else ""
        print(f"error: {place}{reason(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        return 130


def run(arguments: Sequence[str], program: str = PROGRAM) -> int:
    """Run a command, and return its exit status.

    Raises:
        HeadlightError: what a person can mend.
    """
    parser, names = make_parser(program)
    if arguments and not arguments[0].startswith("-") and arguments[0] not in names:
        raise HeadlightError(
            "there is no command {command!r}; choose one of {names} (`{program} --help` describes them)",
            command=arguments[0],
            names=", ".join(names),
            program=program,
        )
    options = parser.parse_args(arguments)
    status: int = options.run_command(options)
    return status


def make_parser(program: str = PROGRAM) -> tuple[argparse.ArgumentParser, list[str]]:
    """Return what reads the words of a command, and the commands; `run_command` of what it reads does the work.

    Args:
        program: what the commands are called by.
    """
    parser = argparse.ArgumentParser(
        prog=program,
        description="Train a Transformer that can be watched, and translate with it.",
        epilog=APP_HELP if program != PROGRAM else None,
    )
    parser.add_argument("--version", action="version", version=f"Headlight {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in (train, experiment, decode, import_, inspect, compile_, first_view):
        command.add_command(commands)
    ready.add_command(commands, run)
    return parser, list(commands.choices)
