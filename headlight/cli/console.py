"""`headlight`: the app, or a command."""

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from headlight.cli.main import run_process
from transformer_core.shipped import APP

SHARED = "--shared"
NOT_OF_APP = (["--help"], ["--version"])


def headlight() -> int:
    """Run the given command and return its exit status; options without a command start the app."""
    arguments = sys.argv[1:]
    is_of_app = all(argument.startswith("--") for argument in arguments[:1]) and arguments[:1] not in NOT_OF_APP
    if is_of_app:
        start_app(arguments)
    return run_process(arguments, program="headlight")


def start_app(options: Sequence[str]) -> NoReturn:
    """Replace this process with the app's server.

    Args:
        options: Streamlit's, such as `--server.port 9000`; and `--shared`, for a server that several people use.
    """
    # -P: ignore folders called `pages` or `streamlit` in the working directory.
    command = [sys.executable, "-P", "-m", "streamlit", "run", str(APP / "app.py")]
    if SHARED in options:
        os.environ["HEADLIGHT_SHARED"] = "1"
    os.execv(sys.executable, [*command, *(option for option in options if option != SHARED)])
