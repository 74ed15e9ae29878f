"""Computations that nobody waits for any more are called off: what computes for long asks here again and again.

A server says once who answers. That function is called before each block of a model and each value of a program; what
it raises ends the computation. It should be no `Exception`, which callers may take for a fault of the input.
"""

from collections.abc import Callable

_asked: list[Callable[[], None]] = []


def ask_before_computing(check: Callable[[], None]) -> None:
    """Have a function called again and again while something is computed, on its thread.

    Args:
        check: returns quickly, or raises to end what is being computed.
    """
    _asked.append(check)


def go_on_or_end() -> None:
    """Return, unless what is being computed was called off.

    Raises:
        BaseException: what one of the functions raises that were given to `ask_before_computing`.
    """
    for check in _asked:
        check()
