"""`python -m headlight`: the app, or a command."""

import sys

from headlight.cli.console import headlight

sys.exit(headlight())
