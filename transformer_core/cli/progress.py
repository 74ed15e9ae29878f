"""How far a training is, on a terminal: one line that changes; elsewhere a line every ten seconds."""

import shutil
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # both import torch
    from transformer_core.training.loop import StepRecord
    from transformer_core.training.run.worker import Measurement

_TERMINAL_SECONDS = 0.2  # between two changes of the line on a terminal
_PLAIN_SECONDS = 10.0  # between two lines elsewhere
_CLEAR = "\r\x1b[2K"  # back to the beginning of the line, which is erased


class Progress:
    """Prints steps as they are done.

    Args:
        n_steps: steps of the whole training.
        is_terminal: whether what is printed goes to a terminal.
        clock: seconds that only rise.
    """

    def __init__(self, *, n_steps: int, is_terminal: bool, clock: Callable[[], float] = monotonic) -> None:
        self._n_steps = n_steps
        self._is_terminal = is_terminal
        self._clock = clock
        self._first: tuple[int, float] | None = None  # the first step that is shown, and when it was done
        self._next = clock()

    def show_step(self, record: "StepRecord") -> None:
        """Show a step, unless one was shown a moment ago."""
        now = self._clock()
        if now < self._next and record.step < self._n_steps:
            return
        self._next = now + (_TERMINAL_SECONDS if self._is_terminal else _PLAIN_SECONDS)
        line = (
            f"step {record.step:,} of {self._n_steps:,}   loss {record.loss:.3f} nats   "
            f"{record.tokens_per_second:,.0f} tokens/s"
        )
        if self._first is None:  # which may have been compiled, and says nothing of the others
            self._first = record.step, now
        else:
            step, then = self._first
            left = (now - then) / (record.step - step) * (self._n_steps - record.step)
            line += f"   {duration(left)} left"
        if self._is_terminal:
            width = shutil.get_terminal_size().columns - 1
            print(_CLEAR + line[:width], end="", flush=True)
        else:
            print(line, flush=True)

    def show_measurement(self, measurement: "Measurement") -> None:
        """Show what a model is worth, on a line that stays."""
        results = "   ".join(_result(name, value) for name, value in measurement.metrics.items())
        items = f"{measurement.n_items:,} held-out {measurement.of}"
        self.clear()
        print(f"step {measurement.step:,}, on {items}:   {results}", flush=True)

    def clear(self) -> None:
        """Leave an empty line for the next output."""
        if self._is_terminal:
            print(_CLEAR, end="", flush=True)


def duration(seconds: float) -> str:
    """Return a length of time in words: "48 s", "3 min 20 s", "2 h 5 min"."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _result(name: str, value: float) -> str:
    """Return a measure in words: the loss in nats, all others as percentages, rounded down so that 100 % means all."""
    if name == "loss":
        return f"loss {value:.3f} nats"
    return f"{name.replace('_', ' ')} {int(value * 1000) / 10:.1f} %"
