"""A stack of interventions as JSON: short enough for an address, and read without trust."""

import base64
import json
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

import numpy as np

from headlight.analysis.interventions.records import MAX_ENTRIES, RECORDS, Component, Stack, StackEntry
from transformer_core.errors import ConfigError

MAX_JSON_CHARS = 8_000  # what browsers and servers take as an address


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
        ConfigError: it is not a JSON, no stack, or too long; or an entry that makes no sense.
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


def _values(record: StackEntry | Component) -> dict[str, Any]:
    """Return the fields of a record that are not the default, and the type of an entry."""
    values: dict[str, Any] = {} if isinstance(record, Component) else {"type": record.tag}
    for name, value in record.not_default().items():
        if name == "component":
            values[name] = _values(value)
        elif name == "constant":
            values[name] = base64.b64encode(np.asarray(value, dtype="<f4").tobytes()).decode()
        else:
            values[name] = value
    return values


def _entry(values: Mapping[str, Any]) -> StackEntry:
    records: dict[Any, type[StackEntry]] = {record.tag: record for record in RECORDS}
    tag = values.get("type")
    if not isinstance(tag, str) or tag not in records:
        raise ConfigError(
            "an intervention is of type {types}; got {type!r}", types=", ".join(records), type=str(tag)[:40]
        )
    entry: StackEntry = _record(records[tag], {name: value for name, value in values.items() if name != "type"})
    return entry


def _record(record: Any, values: Mapping[str, Any]) -> Any:
    """Return a record with these fields; ConfigError: it has others, lacks one, or does not allow a value."""
    known = {field.name: field for field in fields(record)}
    for name in values:
        if name not in known:
            raise ConfigError(
                "{kind} has no field {name!r}; save the stack again", kind=record.__name__, name=name[:40]
            )
    missing = [name for name, field in known.items() if field.default is MISSING and name not in values]
    if missing:
        raise ConfigError("{kind} lacks {names}; save the stack again", kind=record.__name__, names=", ".join(missing))
    return record(**{name: _value(name, value) for name, value in values.items()})


def _value(name: str, value: Any) -> Any:
    """Return the value of a field: lists, which JSON has instead, as tuples."""
    match name, value:
        case "component", dict():
            return _record(Component, value)
        case "constant", str():
            try:
                return tuple(np.frombuffer(base64.b64decode(value, validate=True), dtype="<f4").tolist())
            except ValueError as error:
                raise ConfigError("the constant of an ablation is damaged; save the stack again") from error
        case _, list():
            return tuple(_value("", item) for item in value)
    return value
