"""What ended a training, in words: with what was saved, and what to try."""

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from transformer_core.errors import HeadlightError, Message, RunError
from transformer_core.reasons import reason
from transformer_core.training.run.directory import NotSavedError, RunDirectory

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)  # safetensors says the last one for all of them
_NO_MEMORY = ("memory", "bad_alloc", "can't start new thread")  # what torch and Python say, in a RuntimeError


def is_short_of_memory(error: Exception) -> bool:
    """Return whether an error says that there is too little memory."""
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    words = str(error).lower()
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and any(w in words for w in _NO_MEMORY))


@contextmanager
def reported(explain: Callable[[Exception], Exception], write: Callable[[Message], None]) -> Iterator[None]:
    """Write down what ends the work in this context, and raise it as a clear message where its cause is known.

    Args:
        explain: returns the error to report.
        write: takes its words; what it raises of the system is ignored.
    """
    try:
        yield
    except Exception as error:
        failure = explain(error)
        with suppress(OSError):  # of the two, the first failure is the one to tell
            write(reason(failure))
        if failure is error:
            raise
        raise failure from error


def explained(error: Exception, directory: RunDirectory, *, step: int) -> Exception:
    """Return the error to report: a clear message for a known cause, otherwise the error itself.

    Args:
        error: what ended the training.
        directory: of the run.
        step: steps done.
    """
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
