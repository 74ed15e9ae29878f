"""Process-wide settings of our own commands; importing the library changes nothing."""

import ctypes
import os
from contextlib import suppress

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # parameters of mallopt(3)


def let_waiting_threads_sleep(turns: int = 0) -> None:
    """Let torch's threads sleep while they wait, unless the environment says otherwise; call it before torch loads.

    A step of the preset `translation` on two cores, in seconds: left alone 0.19, beside another busy process 0.72;
    where threads sleep at once 0.33 and 0.41; after 3,000 turns 0.25 and 0.47.

    Args:
        turns: how often a thread looks for work before it sleeps (GNU's OpenMP only; others sleep at once).
    """
    if os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE") == "PASSIVE" and turns:
        os.environ.setdefault("GOMP_SPINCOUNT", str(turns))


def keep_freed_memory() -> None:
    """Let the C library keep what tensors free, for the next step asks for the same sizes again.

    Left alone, it gives each large tensor back to the system, which hands out pages of zeros for the next: 16 % of a
    step of the preset `translation`, the more the larger the vocabulary. It holds for the whole process, so it is for
    commands that train or decode, and not for the app. Nothing happens where the C library is not glibc.
    """
    with suppress(AttributeError, OSError):
        libc = ctypes.CDLL("libc.so.6")
        libc.mallopt(_MMAP_MAX, 0)
        libc.mallopt(_TRIM_THRESHOLD, 2**31 - 1)
