"""The run-time check of shapes on the functions of the libraries, while the tests run."""

import io
import re
import threading
from collections.abc import Callable
from functools import wraps
from inspect import isclass
from types import FunctionType
from typing import Any, Self, TextIO, get_type_hints

import jaxtyping
import numpy as np
import torch
from beartype import BeartypeConf, FrozenDict, beartype
from beartype.roar import BeartypeDecorHintException

# beartype understands `Self` only where it decorates the class, and here functions are decorated;
# no file and no StringIO is an instance of `TextIO`; an int is accepted for a float, as in mypy.
CONF = BeartypeConf(hint_overrides=FrozenDict({Self: Any, TextIO: io.TextIOBase}), is_pep484_tower=True)

# Functions whose annotations beartype cannot check, each with its reason; a test holds this empty.
unchecked: dict[str, str] = {}

_SHAPE = re.compile(r"\b(Float|Int|Bool|Num|Shaped)\w*\[")
_with_named_axes = jaxtyping.jaxtyped


def install() -> None:
    """From now on check what is imported of the libraries and of the lesson engine."""
    vars(jaxtyping)["jaxtyped"] = lambda *, typechecker: typechecker  # what the import hook writes above definitions
    jaxtyping.install_import_hook(
        ["transformer_core", "headlight", "pages.learn.tour.lesson_engine"], f"{__name__}.{check.__name__}"
    )


def check(definition: Any) -> Any:
    """Return a function of tensors with its arguments and its result checked, or a record with its shapes checked.

    An axis that is named twice must have one length. A call is checked where types and shapes come that the function
    did not see yet. Functions without a shape in their signature are left alone: their types are mypy's to check.
    """
    if "<locals>" in definition.__qualname__:
        return definition  # a function in a function is created at every call, and would be prepared each time
    if isinstance(definition, FunctionType):
        definition.__annotations__ = _resolved(definition)
    if not any(_SHAPE.search(str(hint)) for hint in getattr(definition, "__annotations__", {}).values()):
        return definition
    if isclass(definition):
        return _with_named_axes(definition, typechecker=_check_types)
    return _checked_once_a_form(definition)


def _checked_once_a_form(function: FunctionType) -> Callable[..., Any]:
    """The function; arguments are checked before it is called, and with its result after that."""
    given = threading.local()  # the result to check

    @wraps(function)
    def give(*args: Any, **kwargs: Any) -> Any:
        return given.result

    @wraps(function)
    def take(*args: Any, **kwargs: Any) -> None:
        """Take the arguments; nothing is returned, and nothing said of it."""

    take.__annotations__ = {name: hint for name, hint in function.__annotations__.items() if name != "return"}
    check_arguments, check_all = _check_types(take), _check_types(give)
    seen: set[Any] = set()

    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        arguments = (_form(args), _form(kwargs))
        if arguments not in seen:
            with _with_named_axes("context"):
                check_arguments(*args, **kwargs)
            seen.add(arguments)
        result = function(*args, **kwargs)
        whole = (arguments, _form(result))
        if whole not in seen:
            given.result = result
            with _with_named_axes("context"):
                check_all(*args, **kwargs)
            seen.add(whole)
        return result

    return checked


def _form(value: Any) -> Any:
    """All of a value that a check looks at: type and shape, those of its items too where it is a sequence of them."""
    kind = type(value)
    if isinstance(value, torch.Tensor | np.ndarray):
        return kind, tuple(value.shape), value.dtype
    if isinstance(value, tuple | list):
        return kind, *map(_form, value)
    if isinstance(value, dict):
        return kind, *((key, _form(item)) for key, item in value.items())
    return kind


def _resolved(function: FunctionType) -> dict[str, Any]:
    """Return the function's annotations; one that is written as a string, and means something to mypy alone, not."""
    try:
        return get_type_hints(function, include_extras=True)
    except (NameError, TypeError):
        return {name: hint for name, hint in function.__annotations__.items() if not isinstance(hint, str)}


def _check_types(function: Callable[..., Any]) -> Callable[..., Any]:
    try:
        return beartype(conf=CONF)(function)
    except BeartypeDecorHintException as error:
        unchecked[f"{function.__module__}.{function.__qualname__}"] = str(error)
        return function
