"""Cancellation: long computations check regularly whether anyone still waits for their result.

A server adds a check once; it is called before each block of a model and each value of a program. The exception that
it raises should not derive from `Exception`, which callers may mistake for a bad input.
"""

from collections.abc import Callable

_checks: list[Callable[[], None]] = []


def add_cancellation_check(check: Callable[[], None]) -> None:
    """Add a function that is called during computations, on their thread; it returns quickly, or raises to cancel."""
    _checks.append(check)


def raise_if_cancelled() -> None:
    """Call all checks; one of them raises if the computation was cancelled."""
    for check in _checks:
        check()
