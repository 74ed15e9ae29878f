"""Progress of a command: a changing line in a terminal; elsewhere a line every ten seconds."""

import shutil
import sys
from collections.abc import Callable
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from transformer_core.errors import NO_MESSAGE, Message

if TYPE_CHECKING:  # both import torch
    from transformer_core.training.loop import StepRecord
    from transformer_core.training.run.worker import Measurement

_SILENT_SECONDS = 0.5  # before the first line while loading
_TERMINAL_SECONDS = 0.2  # between changes of the line in a terminal
_PLAIN_SECONDS = 10.0  # between lines elsewhere
_CLEAR = "\r\x1b[2K"  # erases the line


class StatusLine:
    """A line of progress, which is erased from a terminal at the end of its context.

    Args:
        file: to print to; None: the standard error.
        is_terminal: whether that is a terminal; None: determined from the file.
        clock: in seconds.
    """

    def __init__(
        self, file: TextIO | None = None, *, is_terminal: bool | None = None, clock: Callable[[], float] = monotonic
    ) -> None:
        self._file = file or sys.stderr
        self.is_terminal = self._file.isatty() if is_terminal is None else is_terminal
        self._clock = clock
        self._next = clock()  # the time of the next change
        self._is_shown = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()

    def show_line(self, line: str, *, is_last: bool = False) -> None:
        """Show a line, unless one was shown just before; the last one is always shown."""
        now = self._clock()
        if now < self._next and not is_last:
            return
        self._next = now + (_TERMINAL_SECONDS if self.is_terminal else _PLAIN_SECONDS)
        self._is_shown = True
        if self.is_terminal:
            width = shutil.get_terminal_size().columns - 1
            print(_CLEAR + line[:width], end="", file=self._file, flush=True)
        else:
            print(line, file=self._file, flush=True)

    def clear(self) -> None:
        """Erase the line."""
        if self.is_terminal and self._is_shown:
            print(_CLEAR, end="", file=self._file, flush=True)
        self._is_shown = False


class LoadingProgress(StatusLine):
    """Prints the progress of downloading or reading a model to the standard error."""

    _what = NO_MESSAGE

    def show(self, done: int, total: int, what: Message) -> None:
        """Show the bytes done, after a short delay."""
        if what != self._what:
            self._what, self._next = what, self._clock() + _SILENT_SECONDS
        line = f"{what}: {done / 1e6:,.1f} of {total / 1e6:,.1f} MB ({100 * done // max(total, 1)}%)"
        self.show_line(line, is_last=self._is_shown and done == total)


class TrainingProgress(StatusLine):
    """Prints the steps of a training of `n_steps` to the standard output."""

    def __init__(
        self, n_steps: int, *, is_terminal: bool | None = None, clock: Callable[[], float] = monotonic
    ) -> None:
        super().__init__(sys.stdout, is_terminal=is_terminal, clock=clock)
        self._n_steps = n_steps
        self._first: tuple[int, float] | None = None  # the first step shown, and its time

    def show_step(self, record: "StepRecord") -> None:
        """Show a step, unless one was shown just before."""
        now = self._clock()
        line = (
            f"step {record.step:,} of {self._n_steps:,}   loss {record.loss:.3f} nats   "
            f"{record.tokens_per_second:,.0f} tokens/s"
        )
        if self._first is None:  # it may include compilation, so it does not count
            self._first = record.step, now
        else:
            step, then = self._first
            left = (now - then) / (record.step - step) * (self._n_steps - record.step)
            line += f"   {duration(left)} left"
        self.show_line(line, is_last=record.step >= self._n_steps)

    def show_measurement(self, measurement: "Measurement") -> None:
        """Print metrics on a line that is not erased."""
        results = "   ".join(_result(name, value) for name, value in measurement.metrics.items())
        items = f"{measurement.n_items:,} held-out {measurement.of}"
        self.clear()
        print(f"step {measurement.step:,}, on {items}:   {results}", flush=True)


def duration(seconds: float) -> str:
    """Return a duration as text: "48 s", "3 min 20 s", "2 h 5 min"."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _result(name: str, value: float) -> str:
    """Return a metric as text: the loss in nats, others as percentages, rounded down so that 100 % means all."""
    if name == "loss":
        return f"loss {value:.3f} nats"
    return f"{name.replace('_', ' ')} {int(value * 1000) / 10:.1f} %"
