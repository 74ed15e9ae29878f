"""All commands, under the name `python -m transformer_core`."""

import sys

from headlight.cli.main import run_process

sys.exit(run_process(sys.argv[1:]))
