"""A process that holds a lock."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HOLD = "import sys; from filelock import FileLock as L; a = L(sys.argv[1]); a.acquire(); print(flush=True); input()"


@contextmanager
def holder(lock: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Start a process that holds a lock until the block ends, or until it is killed."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-c", HOLD, str(lock)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield process
        finally:
            process.kill()
