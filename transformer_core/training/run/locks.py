"""Locks of files: the system lets go of those of a process that ends, however it ends."""

from pathlib import Path

from filelock import FileLock, Timeout


def acquire(path: Path, *, seconds: float = 0.0) -> FileLock | None:
    """Return the lock of a file, to be released; None where it is held, also by another lock of this process.

    Args:
        path: the file; it is made, and stays.
        seconds: how long to wait for a lock that is held.

    Raises:
        OSError: the file cannot be written.
    """
    lock = FileLock(path, thread_local=False, preserve_lock_file=True)
    try:
        lock.acquire(timeout=seconds)
    except Timeout:
        return None
    return lock
