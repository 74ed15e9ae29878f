"""Messages for errors that end a training: the cause, the last save, and what to do."""

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from transformer_core.errors import HeadlightError, Message, RunError
from transformer_core.reasons import reason
from transformer_core.training.run.directory import NotSavedError, RunDirectory

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)  # safetensors raises the last one for all of them
_NO_MEMORY = ("memory", "bad_alloc", "can't start new thread")  # in a RuntimeError of torch or Python


def is_short_of_memory(error: Exception) -> bool:
    """Return whether an error means that there is too little memory."""
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    words = str(error).lower()
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and any(w in words for w in _NO_MEMORY))


@contextmanager
def reported(explain: Callable[[Exception], Exception], write: Callable[[Message], None]) -> Iterator[None]:
    """Write the message of an error of this context, and raise the error that `explain` makes of it."""
    try:
        yield
    except Exception as error:
        failure = explain(error)
        with suppress(OSError):  # the first failure is the one to report
            write(reason(failure))
        if failure is error:
            raise
        raise failure from error


def explained(error: Exception, directory: RunDirectory, *, step: int) -> Exception:
    """Return the error to report after some steps: a clear message for a known cause, otherwise the error itself."""
    progress = None
    with suppress(HeadlightError, OSError):
        progress = directory.progress()
    if progress is None:
        saved = Message("No checkpoint has been saved yet")
    else:
        saved = Message("The checkpoint of step {step:,} is intact", step=progress.step)
    if is_short_of_memory(error):
        training = directory.request.training
        return RunError(
            "there is not enough memory for step {step:,}. {saved}. Start a new run with a smaller "
            "batch_size (now {batch_size:,}), more gradient accumulation (accumulate, now "
            "{accumulate}), or a smaller model",
            step=step + 1,
            saved=saved,
            batch_size=training.batch_size,
            accumulate=training.accumulate,
        )
    if isinstance(error, OSError):
        is_full = error.errno in _NO_ROOM
        what = Message("the disk is full") if is_full else reason(error)
        return RunError(
            "{path} cannot be written: {what}. {saved}; free some disk space, then continue with --resume",
            path=directory.path,
            what=what,
            saved=saved,
        )
    if isinstance(error, RunError) and not isinstance(error, NotSavedError):
        return type(error)(Message.joined(". ", (error, saved)))
    return error
