"""What the operator of the server can see: page run times, errors and memory use."""

import os
import time
import traceback
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import streamlit as st

import headlight
import transformer_core as tc

MIB = 1 << 20
MOST_RUNS = 200  # runs of each page whose times are kept
MOST_FAILURES = 50
_STATM = Path("/proc/self/statm")
# All other code belongs to libraries.
_OURS = (Path(__file__).parents[1], Path(headlight.__file__).parent, Path(tc.__file__).parent)


@dataclass(frozen=True)
class Failure:
    """An error that no page expected."""

    at: datetime
    what: str  # the error, in the words of its class
    where: str  # file and line, the innermost of ours


@dataclass
class Health:
    """The run times and failures since the server started."""

    seconds: dict[str, deque[float]] = field(default_factory=dict)  # of whole runs, by the page's address
    failures: deque[Failure] = field(default_factory=lambda: deque(maxlen=MOST_FAILURES))  # the latest first


@st.cache_resource(show_spinner=False)
def health() -> Health:
    """Return the health record that all sessions share."""
    return Health()


@contextmanager
def timed(page: str) -> Iterator[None]:
    """Record how long a run of a page takes; a run that a user action or an error interrupts does not count."""
    start = time.perf_counter()
    yield
    health().seconds.setdefault(page, deque(maxlen=MOST_RUNS)).append(time.perf_counter() - start)


def note(error: Exception) -> None:
    """Record a failure."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if any(Path(frame.filename).is_relative_to(folder) for folder in _OURS)] or frames
    where = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else ""
    what = f"{type(error).__name__}: {error}"[:300]
    health().failures.appendleft(Failure(datetime.now(UTC), what, where))


def resident_mib() -> float | None:
    """Return the resident memory of this process in MiB; None if the machine does not report it."""
    try:
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / MIB
    except (OSError, ValueError, IndexError):
        return None
