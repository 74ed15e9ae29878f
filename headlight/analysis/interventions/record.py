"""Base class of intervention records: fields from any source are converted and checked at construction."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields
from typing import Any, ClassVar

import numpy as np

from transformer_core.checked_fields import Refusal, check_fields, check_together, is_number
from transformer_core.errors import ConfigError
from transformer_core.text.interface import Given

MAX_TEXTS = 16  # of one entry
MAX_TEXT_CHARS = 2000  # of each
MAX_NAME_CHARS = 80
_MAX_INDICES = 1024  # heads, positions, cells or tokens of an entry
_MAX_CONSTANT = 1 << 14  # numbers


def items(name: str, values: Any, most: int | None = _MAX_INDICES) -> tuple[Any, ...]:
    """Return values as a tuple; `most` is the largest length allowed, None for any."""
    if not isinstance(values, Iterable) or isinstance(values, str | bytes):
        raise ConfigError("{field} must be a list; got {values!r}", field=name, values=values)
    listed = tuple(values)
    if most is not None and len(listed) > most:
        raise ConfigError(
            "{field} has {n:,} items; at most {most:,} are possible", field=name, n=len(listed), most=most
        )
    return listed


def _indices(name: str, values: Any) -> tuple[int, ...]:
    indices = items(name, values)
    for index in indices:
        if type(index) is not int or index < 0:
            raise ConfigError("{field} are whole numbers from 0 on; got {index!r}", field=name, index=index)
    return _not_empty(name, indices)


def _cells(name: str, values: Any) -> tuple[tuple[int | None, int | None], ...]:
    cells = items(name, values)
    for cell in cells:
        is_pair = isinstance(cell, tuple | list) and len(cell) == 2
        if not is_pair or any(i is not None and (type(i) is not int or i < 0) for i in cell):
            raise ConfigError(
                "a cell is (query, key), each a whole number from 0 on or None for all; got {cell!r}", cell=cell
            )
    return _not_empty(name, tuple((query, key) for query, key in cells))


def _not_empty(name: str, values: tuple[Any, ...]) -> tuple[Any, ...]:
    if not values:
        raise ConfigError("{field} is empty, so nothing would change; name at least one", field=name)
    return values


def _texts(name: str, values: Any) -> tuple[Given, ...]:
    texts = items(name, values, MAX_TEXTS)
    for text in texts:
        parts = text if isinstance(text, tuple) and len(text) == 2 else (text,)
        n = sum(map(len, parts)) if all(isinstance(part, str) for part in parts) else 0
        if not n or max(map(len, parts)) > MAX_TEXT_CHARS:
            raise ConfigError(
                "a text to take values from must have 1 to {most:,} characters; this one has {n:,}",
                most=MAX_TEXT_CHARS,
                n=n,
            )
    return texts


def _float32(name: str, values: Any) -> tuple[float, ...]:
    numbers = items(name, values, _MAX_CONSTANT)
    if not all(is_number(number) and abs(number) <= 1e30 for number in numbers):
        raise ConfigError("the values of constant must be finite numbers")
    return tuple(np.asarray(numbers, dtype=np.float32).tolist())  # as `to_json` packs them


_CONVERSIONS: Mapping[str, Callable[[str, Any], Any]] = {  # by field; they raise ConfigError
    **dict.fromkeys(("heads", "positions", "tokens"), _indices),
    "cells": _cells,
    "texts": _texts,
    "text": lambda name, value: _texts(name, (value,))[0],
    "constant": _float32,
    "number": lambda _, value: float(value) if is_number(value) else value,
}


class Record:
    """A frozen record that checks its fields; its `repr` shows only those that differ from the default."""

    refusals: ClassVar[tuple[Refusal, ...]] = ()

    def __post_init__(self) -> None:
        """Convert and check each field, then check them together."""
        for field in fields(self):  # type: ignore[arg-type]
            value, convert = getattr(self, field.name), _CONVERSIONS.get(field.name)
            if convert and (value is not None or field.default is not None):
                object.__setattr__(self, field.name, convert(field.name, value))
        check_fields(self)
        check_together(self, self.refusals)

    def __repr__(self) -> str:
        """Return a Python expression that evaluates to an equal record."""
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.not_default().items())})"

    def not_default(self) -> dict[str, Any]:
        """Return the fields that differ from their defaults."""
        values = {field.name: (getattr(self, field.name), field.default) for field in fields(self)}  # type: ignore[arg-type]
        return {name: value for name, (value, default) in values.items() if default is MISSING or value != default}
