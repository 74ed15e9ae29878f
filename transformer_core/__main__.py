"""`python -m transformer_core`: train a model, translate with it."""

import sys

from headlight.cli.console import run_command

sys.exit(run_command(sys.argv[1:]))
