"""Process-wide settings of our own commands; importing the library changes nothing."""

import ctypes
import os
from contextlib import suppress

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # parameters of mallopt(3)


def let_waiting_threads_sleep(turns: int = 0) -> None:
    """Let torch's threads sleep while they wait, unless the environment says otherwise; call it before importing torch.

    Seconds per step of the preset `translation` on two cores, alone and next to another busy process: by default 0.19
    and 0.72; sleeping at once 0.33 and 0.41; after 3,000 turns 0.25 and 0.47.

    Args:
        turns: how often a thread checks for work before it sleeps (GNU OpenMP only; others sleep at once).
    """
    if os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE") == "PASSIVE" and turns:
        os.environ.setdefault("GOMP_SPINCOUNT", str(turns))


def keep_freed_memory() -> None:
    """Let glibc keep freed memory, because the next step needs tensors of the same sizes.

    By default it returns each large tensor to the system, which then clears pages for the next one: 16 % of a step of
    the preset `translation`, more with larger vocabularies. This affects the whole process, so only commands that train
    or decode use it, not the app. Other C libraries are left alone.
    """
    with suppress(AttributeError, OSError):
        libc = ctypes.CDLL("libc.so.6")
        libc.mallopt(_MMAP_MAX, 0)
        libc.mallopt(_TRIM_THRESHOLD, 2**31 - 1)
