"""The run-time check of types and shapes that jaxtyping's import hook puts on every function of the core."""

import io
from collections.abc import Callable
from typing import Any, Self, TextIO

from beartype import BeartypeConf, FrozenDict, beartype
from beartype.roar import BeartypeDecorHintException

# The hook decorates functions, and beartype understands `Self` only where it decorates the class;
# no file and no StringIO is an instance of `TextIO`.
CONF = BeartypeConf(hint_overrides=FrozenDict({Self: Any, TextIO: io.TextIOBase}))

# Functions whose annotations beartype cannot check, each with its reason; a test holds this empty.
unchecked: dict[str, str] = {}


def check(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with its arguments and its result checked at every call."""
    if "<locals>" in function.__qualname__:  # made anew at every call; checking it would cost a millisecond each time
        return function
    try:
        return beartype(conf=CONF)(function)
    except BeartypeDecorHintException as error:
        unchecked[f"{function.__module__}.{function.__qualname__}"] = str(error)
        return function
