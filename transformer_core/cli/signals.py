"""Ctrl-C and SIGTERM as requests to stop, which a running job checks between two steps."""

import os
import signal
from types import FrameType, TracebackType
from typing import Self


class StopSignals:
    """Records the first signal within its context; a second one of the same kind ends the process at once.

    Args:
        speaks: confirm a signal on the standard error; only one of several processes should.
    """

    def __init__(self, *, speaks: bool = True) -> None:
        self._speaks = speaks
        self.received: signal.Signals | None = None

    def __enter__(self) -> Self:
        self._former = {number: signal.signal(number, self._note) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._former.items():
            signal.signal(number, handler)

    def reason(self) -> str:
        """Return the reason to stop, or an empty text."""
        if self.received is None:
            return ""
        return "Ctrl-C" if self.received == signal.SIGINT else self.received.name

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.received = signal.Signals(number)
        signal.signal(number, signal.SIG_DFL)
        if self._speaks:  # print is not safe in a handler
            os.write(2, b"\nStopping after this step, and saving; once more ends at once.\n")
