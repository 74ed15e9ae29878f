"""The queue: a machine trains a few models side by side; further ones wait, in the order in which they came.

No process keeps the queue. Each run holds a file lock while it is trained or waits, and the system lets go of the locks
of a process that ends, however it ends.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock

from transformer_core.corpora.storage.kept_arrays import cache_folder
from transformer_core.errors import ConfigError
from transformer_core.training.run.locks import acquire

_POLL_SECONDS = 0.2
_TICKET_SECONDS = 5.0  # so long a new ticket may not be held yet
_FEWEST_AT_ONCE = 2
_RUNS = "places"  # the line of the runs, and its folder in the cache folder


def n_at_once() -> int:
    """Return how many runs a machine trains side by side: half as many as it has cores, or HEADLIGHT_RUNS_AT_ONCE.

    Raises:
        ConfigError: that variable is no number from 1 on.
    """
    setting = os.environ.get("HEADLIGHT_RUNS_AT_ONCE", "")
    if not setting:
        return max(_FEWEST_AT_ONCE, (os.cpu_count() or 1) // 2)
    if not setting.isdecimal() or int(setting) < 1:
        raise ConfigError("HEADLIGHT_RUNS_AT_ONCE must be a whole number of at least 1, got {wanted!r}", wanted=setting)
    return int(setting)


class QueueTurn(NamedTuple):
    """A place among the runs that are trained; `release` gives it to the next."""

    lock: FileLock | None  # None where there is no queue

    def release(self) -> None:
        """Let the next run begin."""
        if self.lock is not None:
            self.lock.release()


def take_place() -> QueueTurn | None:
    """Return a free place, or None where there is none, without waiting."""
    folder = _folder()
    return QueueTurn(None) if folder is None else _free_place(folder)


def n_free(line: str = _RUNS, most: int | None = None) -> int:
    """Return how many places of a line are free now, as `wait_for_place` has them; all where there is no queue."""
    folder, n_places = _folder(line), n_at_once() if most is None else most
    locks = [None if folder is None else acquire(folder / f"place-{number}.lock") for number in range(n_places)]
    for lock in locks:
        if lock is not None:
            lock.release()
    return n_places if folder is None else n_places - locks.count(None)


def wait_for_place(*, is_wanted: Callable[[int], bool], line: str = _RUNS, most: int | None = None) -> QueueTurn | None:
    """Wait for a place.

    Args:
        is_wanted: asked five times a second, with how many runs wait before this one; False: wait no longer.
        line: whose places; those who wait in another line do not count.
        most: how many places the line has; None: as many as `n_at_once`.

    Returns:
        The place; None if it is wanted no longer.
    """
    folder = _folder(line)
    if folder is None:  # there is no queue to wait in
        return QueueTurn(None)
    ticket = folder / f"ticket-{time.time_ns():020}-{os.getpid()}.lock"
    mine = FileLock(ticket, thread_local=False, preserve_lock_file=True)
    mine.acquire(timeout=_TICKET_SECONDS)
    try:
        while True:
            n_before = sum(_is_held(other) for other in folder.glob("ticket-*.lock") if other.name < ticket.name)
            place = _free_place(folder, most) if not n_before else None
            if place is not None:
                return place
            if not is_wanted(n_before):
                return None
            time.sleep(_POLL_SECONDS)
    finally:
        mine.release()
        ticket.unlink(missing_ok=True)


def _folder(line: str = _RUNS) -> Path | None:
    try:
        folder = cache_folder() / line
        folder.mkdir(parents=True, exist_ok=True)
        return folder if os.access(folder, os.W_OK) else None
    except OSError:
        return None


def _free_place(folder: Path, most: int | None = None) -> QueueTurn | None:
    for number in range(n_at_once() if most is None else most):
        lock = acquire(folder / f"place-{number}.lock")
        if lock is not None:
            return QueueTurn(lock)
    return None


def _is_held(path: Path) -> bool:
    """Whether a process still waits with this ticket; one of a process that is gone is thrown away."""
    lock = acquire(path)
    if lock is None:
        return True
    lock.release()
    is_new = time.time_ns() - int(path.name.split("-")[1]) < _TICKET_SECONDS * 1e9
    if not is_new:
        path.unlink(missing_ok=True)
    return is_new
