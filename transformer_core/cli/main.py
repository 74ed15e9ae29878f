"""The commands, their errors, and their exit statuses."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import TypeAlias

from transformer_core import __version__
from transformer_core.cli import decode, import_, train
from transformer_core.errors import HeadlightError, UnsupportedModelError
from transformer_core.process import keep_freed_memory, let_waiting_threads_sleep
from transformer_core.reasons import reason

PROGRAM = "python -m transformer_core"
_VIEWING = (
    "If the transformers library has this model, its attention can be viewed: import it on the Models page of the app, "
    "or use `headlight show MODEL TEXT` or hl.show(model, tokenizer, text)."
)
_MOST_NAMED = 200  # most characters of a path to show
APP_HELP = (
    "Without a command, the app starts. It takes Streamlit’s options, such as --server.port 9000, and --shared for a "
    "server that several people use."
)


Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
AddCommands = Callable[["Commands"], None]


def add_commands(commands: Commands, observer: train.Observer | None = None) -> None:
    """Add the commands of the library.

    Args:
        commands: the subcommands of the command line.
        observer: adds measurements to a training.
    """
    train.add_command(commands, observer)
    for command in (decode, import_):
        command.add_command(commands)


def run_process(arguments: Sequence[str], program: str = PROGRAM, add_commands: AddCommands = add_commands) -> int:
    """Run a command that has the whole process to itself; return the exit status."""
    let_waiting_threads_sleep(turns=3000)
    keep_freed_memory()
    return main(arguments, program, add_commands)


def main(arguments: Sequence[str], program: str = PROGRAM, add_commands: AddCommands = add_commands) -> int:
    """Run a command; return 0 when done, 2 after a user's error, 128 + n if stopped by signal n."""
    try:
        status = run(arguments, program, add_commands)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # the reader has closed its end, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that the final flush succeeds
        return 128 + 13  # SIGPIPE
    except UnsupportedModelError as error:
        print(f"error: {error}\n{_VIEWING}", file=sys.stderr)
        return 2
    except HeadlightError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except OSError as error:  # of a given path: no space, no permission, no such file
        place = f"{str(error.filename)[:_MOST_NAMED]}: " if error.filename else ""
        print(f"error: {place}{reason(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        return 130


def run(arguments: Sequence[str], program: str = PROGRAM, add_commands: AddCommands = add_commands) -> int:
    """Run a command, and return its exit status.

    Raises:
        HeadlightError: a user's error.
    """
    parser, names = make_parser(program, add_commands)
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


def make_parser(
    program: str = PROGRAM, add_commands: AddCommands = add_commands
) -> tuple[argparse.ArgumentParser, list[str]]:
    """Return the parser of the command line, and the names of the commands."""
    parser = argparse.ArgumentParser(
        prog=program,
        description="Train, run and inspect Transformers.",
        epilog=APP_HELP if program != PROGRAM else None,
    )
    parser.add_argument("--version", action="version", version=f"Headlight {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    add_commands(commands)
    return parser, list(commands.choices)
