"""The run-time check of types and shapes on the functions of the core, while the tests run."""

import io
import re
from collections.abc import Callable
from functools import wraps
from inspect import isclass
from types import FunctionType
from typing import Any, Self, TextIO, get_type_hints

import jaxtyping
from beartype import BeartypeConf, FrozenDict, beartype
from beartype.roar import BeartypeDecorHintException

# beartype understands `Self` only where it decorates the class, and here functions are decorated;
# no file and no StringIO is an instance of `TextIO`.
CONF = BeartypeConf(hint_overrides=FrozenDict({Self: Any, TextIO: io.TextIOBase}))

# Functions whose annotations beartype cannot check, each with its reason; a test holds this empty.
unchecked: dict[str, str] = {}

# Grammars: half of the core's functions, called millions of times, and none has to do with a tensor.
_UNCHECKED_ROOMS = ("transformer_core.corpora.stories", "transformer_core.corpora.en_fr")
_SHAPE = re.compile(r"\b(Float|Int|Bool|Num|Shaped)\w*\[")
_with_named_axes = jaxtyping.jaxtyped


def install() -> None:
    """From now on check what is imported of the core."""
    vars(jaxtyping)["jaxtyped"] = lambda *, typechecker: typechecker  # what the import hook writes above definitions
    jaxtyping.install_import_hook("transformer_core", f"{__name__}.{check.__name__}")


def check(definition: Any) -> Any:
    """The function, with its arguments and its result checked at every call; of a dataclass, its shapes.

    An axis that is named twice must have one length. A record of that is kept at each call and takes longer than most
    functions do, so those that speak of no shape do without it.
    """
    if definition.__module__.startswith(_UNCHECKED_ROOMS):
        return definition
    if isinstance(definition, FunctionType):
        definition.__annotations__ = _resolved(definition)
    has_shapes = any(_SHAPE.search(str(hint)) for hint in getattr(definition, "__annotations__", {}).values())
    if isclass(definition):
        return _with_named_axes(definition, typechecker=_check_types) if has_shapes else definition
    checked = _check_types(definition)
    if not has_shapes:
        return checked

    @wraps(definition)
    def with_named_axes(*args: Any, **kwargs: Any) -> Any:
        with _with_named_axes("context"):
            return checked(*args, **kwargs)

    return with_named_axes


def _resolved(function: FunctionType) -> dict[str, Any]:
    """Return the function's annotations; one that is written as a string, and means something to mypy alone, not."""
    try:
        return get_type_hints(function, include_extras=True)
    except (NameError, TypeError):
        return {name: hint for name, hint in function.__annotations__.items() if not isinstance(hint, str)}


def _check_types(function: Callable[..., Any]) -> Callable[..., Any]:
    if "<locals>" in function.__qualname__:  # made anew at every call; checking it would cost a millisecond each time
        return function
    try:
        return beartype(conf=CONF)(function)
    except BeartypeDecorHintException as error:
        unchecked[f"{function.__module__}.{function.__qualname__}"] = str(error)
        return function
