"""How far a model is on its way, on the standard error: one line that changes; elsewhere a line every ten seconds."""

import shutil
import sys
from collections.abc import Callable
from time import monotonic

from transformer_core.errors import NO_MESSAGE, Message

_SILENT_SECONDS = 0.5  # what takes less is not worth a line
_TERMINAL_SECONDS = 0.2  # between two changes of the line on a terminal
_PLAIN_SECONDS = 10.0  # between two lines elsewhere
_CLEAR = "\r\x1b[2K"  # back to the beginning of the line, which is erased


class LoadingProgress:
    """Prints what `weights.load` tells; `clear` it when that is done.

    Args:
        is_terminal: whether what is printed goes to a terminal; None: asked of the standard error.
        clock: seconds that only rise.
    """

    def __init__(self, is_terminal: bool | None = None, clock: Callable[[], float] = monotonic) -> None:
        self._is_terminal = sys.stderr.isatty() if is_terminal is None else is_terminal
        self._clock = clock
        self._what = NO_MESSAGE
        self._next = 0.0
        self._is_shown = False

    def show(self, done: int, total: int, what: Message) -> None:
        """Show how many bytes are done, unless that was shown a moment ago."""
        now = self._clock()
        if what != self._what:
            self._what, self._next = what, now + _SILENT_SECONDS
        if now < self._next and not (self._is_shown and done == total):
            return
        self._next = now + (_TERMINAL_SECONDS if self._is_terminal else _PLAIN_SECONDS)
        line = f"{what}: {done / 1e6:,.1f} of {total / 1e6:,.1f} MB ({100 * done // max(total, 1)}%)"
        if self._is_terminal:
            print(_CLEAR + line[: shutil.get_terminal_size().columns - 1], end="", file=sys.stderr, flush=True)
        else:
            print(line, file=sys.stderr, flush=True)
        self._is_shown = True

    def clear(self) -> None:
        """Leave an empty line for the next output."""
        if self._is_terminal and self._is_shown:
            print(_CLEAR, end="", file=sys.stderr, flush=True)
        self._is_shown = False
