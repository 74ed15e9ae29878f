"""What the shell calls: `headlight`, and `python -m transformer_core`, which has the same commands."""

import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec

from transformer_core.cli.main import PROGRAM, main
from transformer_core.process import keep_freed_memory, let_waiting_threads_sleep
from transformer_core.shipped import APP

NO_STREAMLIT = (
    "error: the app cannot start because Streamlit is not installed; run `pip install '.[app]'` in the project's "
    "folder, or `headlight --help` for the commands that work without it"
)


def headlight() -> int:
    """Start the app; where there are arguments, run the command that they are, and return its exit status."""
    arguments = sys.argv[1:]
    return run_command(arguments, program="headlight") if arguments else start_app()


def run_command(arguments: Sequence[str], program: str = PROGRAM) -> int:
    """Run a command in this process, which is its own; return its exit status."""
    let_waiting_threads_sleep(turns=3000)
    keep_freed_memory()
    return main(arguments, program)


def start_app() -> int:
    """Become the app's server; return 2 where Streamlit is missing."""
    if find_spec("streamlit") is None:
        print(NO_STREAMLIT, file=sys.stderr)
        return 2
    # -P: a folder `pages` or `streamlit` where the command is called is not taken for ours.
    os.execv(sys.executable, [sys.executable, "-P", "-m", "streamlit", "run", str(APP / "app.py")])
