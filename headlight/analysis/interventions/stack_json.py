"""A stack of interventions as JSON: short enough for an address, and read without trust."""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

import numpy as np

from headlight.analysis.interventions.records import MAX_ENTRIES, RECORDS, Component, Entry, Stack
from transformer_core.errors import ConfigError

MAX_JSON_CHARS = 8_000  # what browsers and servers take as an address

_LISTS = ("heads", "positions", "cells", "texts", "text", "tokens")


def to_json(stack: Stack) -> str:
    """Return a stack as JSON: a list with an object for each entry, of the fields that are not as usual.

    Raises:
        ConfigError: it is longer than `MAX_JSON_CHARS`.
    """
    text = json.dumps([_values(entry) for entry in stack.entries], separators=(",", ":"), ensure_ascii=False)
    if len(text) > MAX_JSON_CHARS:
        raise ConfigError(
            "this stack takes {n:,} characters, and at most {most:,} fit; remove entries or shorten their texts",
            n=len(text),
            most=MAX_JSON_CHARS,
        )
    return text


def from_json(text: str) -> Stack:
    """Return the stack that `to_json` wrote.

    Raises:
        ConfigError: it is no JSON, no stack, or too long; or an entry that makes no sense.
    """
    if not isinstance(text, str) or len(text) > MAX_JSON_CHARS:
        raise ConfigError(
            "a stack of interventions is a text of at most {most:,} characters; save it again", most=MAX_JSON_CHARS
        )
    try:
        values = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ConfigError("this is not a stack of interventions: it is not valid JSON; save it again") from error
    if not isinstance(values, list) or len(values) > MAX_ENTRIES or not all(isinstance(one, dict) for one in values):
        raise ConfigError(
            "this is not a stack of interventions, which is a list of at most {n} objects; save it again",
            n=MAX_ENTRIES,
        )
    return Stack(entries=tuple(_entry(one) for one in values))


def _values(record: Entry | Component) -> dict[str, Any]:
    """Return the fields of a record that are not as usual, and which record it is."""
    values: dict[str, Any] = {} if isinstance(record, Component) else {"type": record.tag}
    for field in fields(record):
        value = getattr(record, field.name)
        if field.default is not MISSING and value == field.default:
            continue
        if field.name == "component":
            value = _values(value)
        elif field.name == "constant":
            value = base64.b64encode(np.asarray(value, dtype="<f4").tobytes()).decode()
        values[field.name] = value
    return values


def _entry(values: Mapping[str, Any]) -> Entry:
    """Return the entry that some values stand for.

    Raises:
        ConfigError: they stand for none.
    """
    kinds: dict[Any, type[Entry]] = {record.tag: record for record in RECORDS}
    tag = values.get("type")
    if not isinstance(tag, str) or tag not in kinds:
        raise ConfigError(
            "an intervention is of type {types}; got {type!r}", types=", ".join(kinds), type=_shortened(tag)
        )
    given = {name: value for name, value in values.items() if name != "type"}
    if isinstance(given.get("component"), dict):
        given["component"] = _record(Component, given["component"])
    if isinstance(given.get("constant"), str):
        given["constant"] = _numbers(given["constant"])
    entry: Entry = _record(kinds[tag], given)
    return entry


def _record(kind: Any, given: Mapping[str, Any]) -> Any:
    """Return a record of some fields.

    Raises:
        ConfigError: a field that it does not have, or lacks, or that holds what it may not.
    """
    known = {field.name: field for field in fields(kind)}
    for name in given:
        if name not in known:
            raise ConfigError(
                "{kind} has no field {name!r}; save the stack again", kind=kind.__name__, name=_shortened(name)
            )
    missing = [name for name, field in known.items() if field.default is MISSING and name not in given]
    if missing:
        raise ConfigError("{kind} lacks {names}; save the stack again", kind=kind.__name__, names=", ".join(missing))
    return kind(**{name: _listed(value) if name in _LISTS else value for name, value in given.items()})


def _listed(value: Any) -> Any:
    """Return lists, which JSON has in their place, as tuples."""
    return tuple(map(_listed, value)) if isinstance(value, list) else value


def _numbers(text: str) -> tuple[float, ...]:
    """Return the numbers of a constant.

    Raises:
        ConfigError: they are not packed as `to_json` does.
    """
    try:
        return tuple(np.frombuffer(base64.b64decode(text, validate=True), dtype="<f4").tolist())
    except (binascii.Error, ValueError) as error:
        raise ConfigError("the constant of an ablation is damaged; save the stack again") from error


def _shortened(value: object) -> str:
    return str(value)[:40]
