"""How much memory the app may keep things in: a share of the machine's, or as much as HEADLIGHT_MEMORY says."""

import os
import re

from transformer_core.errors import ConfigError
from transformer_core.main_memory import main_memory

VARIABLE = "HEADLIGHT_MEMORY"
SHARE = 0.5  # the rest is for trainings, for what is computed just now, and for other programs
_UNTOLD = 8 << 30  # bytes that a machine has which does not say
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([KMGT])(i?)B?", re.IGNORECASE)
_PART = re.compile(r"(\d+(?:\.\d+)?) ?(%?)")


def budget() -> int:
    """Return how many bytes all that is kept may take together.

    Raises:
        ConfigError: HEADLIGHT_MEMORY is no share and no size.
    """
    wanted = os.environ.get(VARIABLE, "").strip() or str(SHARE)
    n_bytes = 0.0
    if match := _SIZE.fullmatch(wanted):
        number, unit, is_binary = float(match[1]), match[2].upper(), bool(match[3])
        n_bytes = number * (1024 if is_binary else 1000) ** (" KMGT".index(unit))
    elif (match := _PART.fullmatch(wanted)) and (share := float(match[1]) / (100 if match[2] else 1)) <= 1:
        n_bytes = share * (main_memory() or _UNTOLD)
    if n_bytes < 1:
        raise ConfigError(
            "{variable} must be a share of the machine’s memory, such as 0.5, or a size, such as 8GB; got {wanted!r}",
            variable=VARIABLE,
            wanted=wanted,
        )
    return int(n_bytes)
