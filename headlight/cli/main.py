"""All commands: those of the library, with head scores in every training, and those of the laboratory."""

from collections.abc import Sequence

from headlight.cli import compile_, experiment, first_view, inspect, ready
from headlight.cli.observer import HeadObserver
from transformer_core.cli import main as library
from transformer_core.cli.main import PROGRAM, Commands


def add_commands(commands: Commands) -> None:
    """Add all commands."""
    library.add_commands(commands, HeadObserver())
    ready.add_command(commands, lambda arguments: library.run(arguments, PROGRAM, add_commands))
    for command in (inspect, experiment, compile_, first_view):
        command.add_command(commands)


def main(arguments: Sequence[str], program: str = PROGRAM) -> int:
    """Run a command; return its exit status, as `transformer_core.cli.main.main` does."""
    return library.main(arguments, program, add_commands)


def run_process(arguments: Sequence[str], program: str = PROGRAM) -> int:
    """Run a command in a separate process; return its exit status."""
    return library.run_process(arguments, program, add_commands)
