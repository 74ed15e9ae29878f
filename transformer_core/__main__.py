"""`python -m transformer_core`: train a model, translate with it."""

import sys

from transformer_core.cli.main import main
from transformer_core.process import keep_freed_memory, let_waiting_threads_sleep

let_waiting_threads_sleep(turns=3000)
keep_freed_memory()
sys.exit(main(sys.argv[1:]))
