"""A run that waits for its turn, before anything large is imported: a process that waits takes 40 MB, not 260.

Its folder says meanwhile how many are ahead. Of a new run that is all there is, with how it was started: `queued.json`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from transformer_core.errors import HeadlightError, Message, RunError
from transformer_core.training.run import commands
from transformer_core.training.run.queue import QueueTurn, n_at_once, wait_for_place
from transformer_core.training.run.status import WorkDirectory

QUEUED = "queued.json"  # how a run was started that had to wait: `arguments`, and `by`, who started it
_FIRST_IN_LINE = Message("queued until another training ends: this machine runs {most} at a time, paused ones included")
_OTHERS_BEFORE = Message(
    "queued until another training ends: this machine runs {most} at a time, paused ones "
    "included; {n} is ahead in the queue",
    plural="queued until another training ends: this machine runs {most} at a time, paused ones "
    "included; {n} are ahead in the queue",
)


@contextmanager
def turn_of(path: Path, stop_reason: Callable[[], str]) -> Iterator[QueueTurn | None]:
    """Wait for a place among the runs of this machine, and give it back at the end; None: a stop was requested.

    Why a run that had to wait cannot begin after all stands in its status.

    Args:
        path: the run's folder; it is made where the run has to wait.
        stop_reason: asked while it waits; a text means: wait no longer.

    Raises:
        RunError: the folder holds something else, another process works there, or it cannot be written.
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
