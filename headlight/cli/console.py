"""What the shell calls: `headlight`, and `python -m transformer_core`, which has the same commands."""

import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec

from transformer_core.cli.main import PROGRAM, main
from transformer_core.process import keep_freed_memory, let_waiting_threads_sleep
from transformer_core.shipped import APP

SHARED = "--shared"
NOT_OF_APP = (["--help"], ["--version"])
NO_STREAMLIT = (
    "error: the app cannot start because Streamlit is not installed; run `pip install '.[app]'` in the project's "
    "folder, or `headlight --help` for the commands that work without it"
)


def headlight() -> int:
    """Run the command that the arguments are, and return its exit status; options alone are those of the app."""
    arguments = sys.argv[1:]
    is_of_app = all(argument.startswith("--") for argument in arguments[:1]) and arguments[:1] not in NOT_OF_APP
    return start_app(arguments) if is_of_app else run_command(arguments, program="headlight")


def run_command(arguments: Sequence[str], program: str = PROGRAM) -> int:
    """Run a command in this process, which is its own; return its exit status."""
    let_waiting_threads_sleep(turns=3000)
    keep_freed_memory()
    return main(arguments, program)


def start_app(options: Sequence[str] = ()) -> int:
    """Become the app's server; return 2 where Streamlit is missing.

    Args:
        options: Streamlit's, such as `--server.port 9000`; and `--shared`, for a server that several people use.
    """
    if find_spec("streamlit") is None:
        print(NO_STREAMLIT, file=sys.stderr)
        return 2
    # -P: a folder `pages` or `streamlit` where the command is called is not taken for ours.
    command = [sys.executable, "-P", "-m", "streamlit", "run", str(APP / "app.py")]
    if SHARED in options:
        os.environ["HEADLIGHT_SHARED"] = "1"
    os.execv(sys.executable, [*command, *(option for option in options if option != SHARED)])
