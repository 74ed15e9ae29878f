"""`python -m transformer_core`: train a model, translate with it."""

import sys

from transformer_core.cli.main import main

sys.exit(main(sys.argv[1:]))
