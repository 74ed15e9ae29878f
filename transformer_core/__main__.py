"""`python -m transformer_core`: the commands of the library, and of Headlight where that is installed too."""

import runpy
import sys
from importlib.util import find_spec

from transformer_core.cli.main import run_process

if __name__ == "__main__":
    if find_spec("headlight"):
        runpy.run_module("headlight.cli", run_name="__main__")
    else:
        sys.exit(run_process(sys.argv[1:]))
