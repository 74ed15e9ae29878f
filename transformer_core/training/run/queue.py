"""The queue: a machine trains a few models side by side; other runs wait in the order in which they arrived.

No process manages the queue. Each run holds a file lock while it trains or waits, and the system releases the locks of
a process that ends in any way. A waiting run has not imported torch: it takes 40 MB, not 260. Its status says how many
are ahead; the only other file of a new run is `queued.json`, which records how it was started.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock

from transformer_core.corpora.storage.kept_arrays import cache_folder
from transformer_core.errors import ConfigError, HeadlightError, Message, RunError
from transformer_core.training.run import commands
from transformer_core.training.run.status import WorkDirectory, acquire

QUEUED = "queued.json"  # `arguments` of a run that had to wait, and `by`, who started it
_POLL_SECONDS = 0.2
_TICKET_SECONDS = 5.0  # a new ticket may not be locked yet
_FEWEST_AT_ONCE = 2
_RUNS = "places"  # name of the runs' queue, and of its folder in the cache folder
_FIRST_IN_LINE = Message("queued until another training ends: this machine runs {most} at a time, paused ones included")
_OTHERS_BEFORE = Message(
    "queued until another training ends: this machine runs {most} at a time, paused ones "
    "included; {n} is ahead in the queue",
    plural="queued until another training ends: this machine runs {most} at a time, paused ones "
    "included; {n} are ahead in the queue",
)


def n_at_once() -> int:
    """Return how many runs train side by side: half the number of cores, or HEADLIGHT_RUNS_AT_ONCE.

    Raises:
        ConfigError: that variable is not a whole number of at least 1.
    """
    setting = os.environ.get("HEADLIGHT_RUNS_AT_ONCE", "")
    if not setting:
        return max(_FEWEST_AT_ONCE, (os.cpu_count() or 1) // 2)
    if not setting.isdecimal() or int(setting) < 1:
        raise ConfigError("HEADLIGHT_RUNS_AT_ONCE must be a whole number of at least 1, got {wanted!r}", wanted=setting)
    return int(setting)


class QueueTurn(NamedTuple):
    """A place among the runs that train; `release` passes it on."""

    lock: FileLock | None  # None without a queue

    def release(self) -> None:
        """Let the next run begin."""
        if self.lock is not None:
            self.lock.release()


def take_place() -> QueueTurn | None:
    """Return a free place without waiting, or None."""
    folder = _folder()
    return QueueTurn(None) if folder is None else _free_place(folder)


def n_free(line: str = _RUNS, most: int | None = None) -> int:
    """Return the number of free places in a line; all places are free if there is no queue."""
    folder, n_places = _folder(line), n_at_once() if most is None else most
    locks = [None if folder is None else acquire(folder / f"place-{number}.lock") for number in range(n_places)]
    for lock in locks:
        if lock is not None:
            lock.release()
    return n_places if folder is None else n_places - locks.count(None)


def wait_for_place(*, is_wanted: Callable[[int], bool], line: str = _RUNS, most: int | None = None) -> QueueTurn | None:
    """Wait for a place; return None if it is no longer wanted.

    Args:
        is_wanted: called five times a second with the number of runs ahead; False ends the wait.
        line: name of the queue; different lines do not wait for each other.
        most: number of places in the line; `n_at_once` by default.
    """
    folder = _folder(line)
    if folder is None:
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


@contextmanager
def turn_of(path: Path, stop_reason: Callable[[], str]) -> Iterator[QueueTurn | None]:
    """Wait for a place for a run, yield it, and release it at the end; yield None after a request to stop.

    If a run that had to wait fails to begin, its status says why.

    Args:
        path: the run's folder, which is created if the run has to wait.
        stop_reason: polled while waiting; a text ends the wait.

    Raises:
        RunError: the folder has other contents, another process works there, or it cannot be written.
    """
    directory = WorkDirectory(path)
    written: Message | None = None
    step = 0

    def is_wanted(n_before: int) -> bool:
        nonlocal written, step
        if written is None:
            step = directory.wait_here()
        waits = Message(_OTHERS_BEFORE if n_before else _FIRST_IN_LINE, most=n_at_once(), n=n_before)
        if waits != written:
            written = waits
            directory.write_status("queued", step=step, reason=waits)
        directory.heartbeat("queued", step=step, reason=waits)
        return not stop_reason() and not commands.take(path, names=("stop",))

    turn = None
    try:
        turn = wait_for_place(is_wanted=is_wanted)
        if turn is None:
            directory.write_status("stopped", step=step, reason=Message("stopped while queued"))
        elif written is not None:
            directory.write_status("queued", step=step)
            directory.keep()
        yield turn
    except HeadlightError as error:
        status = None
        with suppress(RunError):
            status = directory.status()
        if written is not None and status is not None and status.state == "queued":
            with suppress(OSError):
                directory.write_status("failed", step=step, reason=error.message)
        raise
    finally:
        directory.release()
        if turn is not None:
            turn.release()


def _folder(line: str = _RUNS) -> Path | None:
    try:
        folder = cache_folder() / line
        folder.mkdir(parents=True, exist_ok=True)
        return folder if os.access(folder, os.W_OK) else None
    except OSError:
        return None


def _free_place(folder: Path, most: int | None = None) -> QueueTurn | None:
    locks = (acquire(folder / f"place-{number}.lock") for number in range(n_at_once() if most is None else most))
    return next((QueueTurn(lock) for lock in locks if lock is not None), None)


def _is_held(path: Path) -> bool:
    """Return whether a process waits with this ticket; the ticket of a process that is gone is deleted."""
    lock = acquire(path)
    if lock is None:
        return True
    lock.release()
    is_new = time.time_ns() - int(path.name.split("-")[1]) < _TICKET_SECONDS * 1e9
    if not is_new:
        path.unlink(missing_ok=True)
    return is_new
