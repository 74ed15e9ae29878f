"""The commands, and what all of them share: how an error is told, and what the exit status says."""

import argparse
import sys
from collections.abc import Sequence

from transformer_core import __version__
from transformer_core.cli import decode, import_, inspect, ready, train, trial
from transformer_core.errors import HeadlightError

PROGRAM = "python -m transformer_core"
COMMANDS = {"train": train, "trial": trial, "decode": decode, "import": import_, "inspect": inspect, "ready": ready}


def main(arguments: Sequence[str], program: str = PROGRAM) -> int:
    """Run a command; return 0 when done, 2 for an error that a person can mend, 128 + n where signal n stopped it."""
    if arguments and not arguments[0].startswith("-") and arguments[0] not in COMMANDS:
        print(
            f"error: there is no command {arguments[0]!r}; choose one of {', '.join(COMMANDS)} "
            f"(`{program} --help` says what each does)",
            file=sys.stderr,
        )
        return 2
    options = make_parser(program).parse_args(arguments)
    try:
        status: int = options.run_command(options)
    except HeadlightError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        return 130
    return status


def make_parser(program: str = PROGRAM) -> argparse.ArgumentParser:
    """Return what reads the words of a command; `run_command` of what it returns does the work.

    Args:
        program: what the commands are called by.
    """
    parser = argparse.ArgumentParser(
        prog=program,
        description="Train a Transformer that can be watched, and translate with it.",
        epilog="Without a command, the app starts." if program != PROGRAM else None,
    )
    parser.add_argument("--version", action="version", version=f"Headlight {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS.values():
        command.add_command(commands)
    return parser
