"""Checks of the arguments of public functions."""

import operator
from collections.abc import Collection
from numbers import Real
from typing import Any

from transformer_core.errors import ArgumentError, ConfigError, HeadlightError, Message

NUMBER, WHOLE = Message("a number"), Message("a whole number")


def wrong_kind(name: str, value: object, wanted: Message) -> ArgumentError:
    """Return the error for an invalid argument; `wanted` completes the phrase "must be"."""
    return ArgumentError("{name} must be {wanted}; got {got}", name=name, wanted=wanted, got=_in_words(value))


def check_kind(name: str, value: object, kind: type | tuple[type, ...], wanted: Message) -> None:
    """Check the type of an argument; `wanted` completes "must be".

    Raises:
        ArgumentError: it has another type.
    """
    if not isinstance(value, kind):
        raise wrong_kind(name, value, wanted)


def check_whole(name: str, value: Any) -> None:
    """Check that an argument is a Python, NumPy or torch integer.

    Raises:
        ArgumentError: it is not.
    """
    try:
        operator.index(value)
    except TypeError:
        raise wrong_kind(name, value, WHOLE) from None


def check_choice(name: str, value: object, choices: Collection[str], error: type[HeadlightError] = ConfigError) -> None:
    """Check that an argument is one of `choices`; raise `error` otherwise."""
    if not isinstance(value, str) or value not in choices:
        raise error(
            "{name} must be one of {choices}; got {value!r}", name=name, choices=", ".join(choices), value=value
        )


def _in_words(value: object) -> str:
    """Return numbers and None as text; for other values, return the type name and, for arrays, the shape."""
    if value is None or isinstance(value, Real):
        return str(value)
    name = value.__name__ if isinstance(value, type) else type(value).__name__
    shape = getattr(value, "shape", None)
    return f"{name} {[*shape]}" if isinstance(shape, tuple) else name
