"""Print the texts that a language lacks: `python -m pages.languages de [file ...]`."""

import sys
from pathlib import Path

from babel.messages.pofile import write_po

from pages.languages import missing

write_po(
    sys.stdout.buffer,
    missing(sys.argv[1], [Path(name).resolve() for name in sys.argv[2:]]),
    omit_header=True,
    width=0,
)
