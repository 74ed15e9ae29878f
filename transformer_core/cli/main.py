"""The commands, and what all of them share: how an error is told, and what the exit status says."""

import argparse
import sys
from collections.abc import Sequence

from transformer_core.cli import decode, import_, inspect, ready, train, trial
from transformer_core.errors import HeadlightError


def main(arguments: Sequence[str]) -> int:
    """Run a command; return 0 when done, 2 for an error that a person can mend, 128 + n where signal n stopped it."""
    try:
        return run(arguments)
    except HeadlightError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        return 130


def run(arguments: Sequence[str]) -> int:
    """Run a command, and return its exit status.

    Raises:
        HeadlightError: what a person can mend.
    """
    options = make_parser().parse_args(arguments)
    status: int = options.run_command(options)
    return status


def make_parser() -> argparse.ArgumentParser:
    """Return what reads the words of a command; `run_command` of what it returns does the work."""
    parser = argparse.ArgumentParser(
        prog="python -m transformer_core",
        description="Train a Transformer that can be watched, and translate with it.",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    train.add_command(commands)
    trial.add_command(commands)
    decode.add_command(commands)
    import_.add_command(commands)
    inspect.add_command(commands)
    ready.add_command(commands, run)
    return parser
