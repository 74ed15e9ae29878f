"""What the fields of an intervention may hold, as it comes from a person, a notebook or a file."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from transformer_core.checked_fields import is_number
from transformer_core.errors import ConfigError
from transformer_core.text.interface import Given

MAX_TEXTS = 16  # of a method
MAX_TEXT_CHARS = 2000  # of each
MAX_INDICES = 1024  # heads, positions, cells or tokens of an entry
MAX_NAME_CHARS = 80
_MAX_CONSTANT = 1 << 14  # numbers


def check_name(name: object) -> None:
    """Check what a person calls an intervention.

    Raises:
        ConfigError: it is no text, or too long.
    """
    if not isinstance(name, str) or len(name) > MAX_NAME_CHARS:
        raise ConfigError("the name of an intervention is a text of at most {n} characters", n=MAX_NAME_CHARS)


def check_type(field: str, value: object, kind: type) -> None:
    """Check that a field holds a record of some kind.

    Raises:
        ConfigError: it holds something else.
    """
    if not isinstance(value, kind):
        raise ConfigError("{field} must be a {kind}; got {value!r}", field=field, kind=kind.__name__, value=value)


def check_seed(seed: object) -> None:
    """Check the seed of a draw.

    Raises:
        ConfigError: it is no whole number of 32 bits.
    """
    if type(seed) is not int or not 0 <= seed < 1 << 32:
        raise ConfigError("a seed is a whole number from 0 to {last}; got {seed!r}", last=(1 << 32) - 1, seed=seed)


def items_of(field: str, values: Any, most: int | None) -> tuple[Any, ...]:
    """Return some values as a tuple; `most`: so many are possible, None: any number.

    Raises:
        ConfigError: they are none, or too many.
    """
    if not isinstance(values, Iterable) or isinstance(values, str | bytes):
        raise ConfigError("{field} must be a list; got {values!r}", field=field, values=values)
    items = tuple(values)
    if most is not None and len(items) > most:
        raise ConfigError(
            "{field} has {n:,} items; at most {most:,} are possible", field=field, n=len(items), most=most
        )
    return items


def indices_of(field: str, values: Any) -> tuple[int, ...]:
    """Return whole numbers from 0 on.

    Raises:
        ConfigError: one is something else, or there are none or too many.
    """
    indices = items_of(field, values, MAX_INDICES)
    for index in indices:
        if type(index) is not int or index < 0:
            raise ConfigError("{field} are whole numbers from 0 on; got {index!r}", field=field, index=index)
    if not indices:
        raise ConfigError("{field} is empty, so nothing would change; name at least one", field=field)
    return indices


def cells_of(values: Any) -> tuple[tuple[int | None, int | None], ...]:
    """Return pairs of query and key.

    Raises:
        ConfigError: one is something else, or there are none or too many.
    """
    cells = items_of("cells", values, MAX_INDICES)
    pairs = []
    for cell in cells:
        is_pair = isinstance(cell, tuple | list) and len(cell) == 2
        if not is_pair or any(i is not None and (type(i) is not int or i < 0) for i in cell):
            raise ConfigError(
                "a cell is (query, key), each a whole number from 0 on or None for all; got {cell!r}", cell=cell
            )
        pairs.append((cell[0], cell[1]))
    if not pairs:
        raise ConfigError("{field} is empty, so nothing would change; name at least one", field="cells")
    return tuple(pairs)


def texts_of(values: Any) -> tuple[Given, ...]:
    """Return texts that a model could read, a pair of them where two are one.

    Raises:
        ConfigError: one is no text, empty, or too long.
    """
    texts = items_of("texts", values, MAX_TEXTS)
    for text in texts:
        parts = text if isinstance(text, tuple) and len(text) == 2 else (text,)
        are_texts = all(isinstance(part, str) for part in parts)
        n = sum(map(len, parts)) if are_texts else 0
        if not n or max(map(len, parts)) > MAX_TEXT_CHARS:
            raise ConfigError(
                "a text to take values from must have 1 to {most:,} characters; this one has {n:,}",
                most=MAX_TEXT_CHARS,
                n=n,
            )
    return texts


def float32_of(values: Any) -> tuple[float, ...]:
    """Return numbers as float32 has them, so that they survive being packed.

    Raises:
        ConfigError: one is no finite number, or there are too many.
    """
    numbers = items_of("constant", values, _MAX_CONSTANT)
    if not all(is_number(number) and abs(number) <= 1e30 for number in numbers):
        raise ConfigError("the values of constant must be finite numbers")
    return tuple(np.asarray(numbers, dtype=np.float32).tolist())
