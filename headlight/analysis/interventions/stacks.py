"""Stacks of interventions: as JSON, short enough for an address and read without trust, and checked against a model."""

import base64
import json
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

import numpy as np

from headlight.analysis.interventions import records
from headlight.analysis.trace.attentions import ATTENTIONS, attentions_of
from transformer_core.config import ModelConfig
from transformer_core.errors import ConfigError, Message

MAX_JSON_CHARS = 8_000  # short enough for a URL in browsers and servers


def to_json(stack: records.InterventionStack) -> str:
    """Return a stack as JSON: a list with one object for each entry, of the fields that are not the default.

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


def from_json(text: str) -> records.InterventionStack:
    """Return the stack that `to_json` wrote.

    Raises:
        ConfigError: the text is not JSON, not a stack or too long, or has an invalid entry.
    """
    if not isinstance(text, str) or len(text) > MAX_JSON_CHARS:
        raise ConfigError(
            "a stack of interventions is a text of at most {most:,} characters; save it again", most=MAX_JSON_CHARS
        )
    try:
        values = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ConfigError("this is not a stack of interventions: it is not valid JSON; save it again") from error
    if (
        not isinstance(values, list)
        or len(values) > records.MAX_ENTRIES
        or not all(isinstance(one, dict) for one in values)
    ):
        raise ConfigError(
            "this is not a stack of interventions, which is a list of at most {n} objects; save it again",
            n=records.MAX_ENTRIES,
        )
    return records.InterventionStack(entries=tuple(_entry(one) for one in values))


def _values(record: records.StackEntry | records.Component) -> dict[str, Any]:
    """Return the non-default fields of a record, and the type of an entry."""
    values: dict[str, Any] = {} if isinstance(record, records.Component) else {"type": record.tag}
    for name, value in record.not_default().items():
        if name == "component":
            values[name] = _values(value)
        elif name == "constant":
            values[name] = base64.b64encode(np.asarray(value, dtype="<f4").tobytes()).decode()
        else:
            values[name] = value
    return values


def _entry(values: Mapping[str, Any]) -> records.StackEntry:
    by_tag: dict[Any, type[records.StackEntry]] = {record.tag: record for record in records.RECORDS}
    tag = values.get("type")
    if not isinstance(tag, str) or tag not in by_tag:
        raise ConfigError(
            "an intervention is of type {types}; got {type!r}", types=", ".join(by_tag), type=str(tag)[:40]
        )
    entry: records.StackEntry = _record(by_tag[tag], {name: value for name, value in values.items() if name != "type"})
    return entry


def _record(record: Any, values: Mapping[str, Any]) -> Any:
    """Return a record with these fields; ConfigError: a field is unknown or missing, or has an invalid value."""
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
    """Return the value of a field, with the lists of JSON as tuples."""
    match name, value:
        case "component", dict():
            return _record(records.Component, value)
        case "constant", str():
            try:
                return tuple(np.frombuffer(base64.b64decode(value, validate=True), dtype="<f4").tolist())
            except ValueError as error:
                raise ConfigError("the constant of an ablation is damaged; save the stack again") from error
        case _, list():
            return tuple(_value("", item) for item in value)
    return value


def check_stack(config: ModelConfig, stack: records.InterventionStack) -> None:
    """Check that a model has what the enabled entries of a stack name.

    Args:
        config: of the model.
        stack: whose entries are checked, one after the other.

    Raises:
        ConfigError: an entry that does not fit; the message says what the model has.
    """
    for entry in stack.enabled:
        if isinstance(entry, records.TokenSwap):
            _check_tokens(config, entry)
        elif isinstance(entry, records.CellEdit):
            check_component(
                config,
                records.Component(kind="pattern", attention=entry.attention, layer=entry.layer, heads=entry.heads),
            )
        else:
            check_component(config, entry.component)
            if isinstance(entry, records.Ablation) and entry.constant:
                _check_constant(config, entry)


def check_component(config: ModelConfig, component: records.Component) -> None:
    """Check that a model has a component.

    Raises:
        ConfigError: it does not.
    """
    attentions = attentions_of(config)
    if component.attention not in attentions:
        raise ConfigError(
            "this model has no {attention}; choose {available}",
            attention=Message(ATTENTIONS[component.attention].inline),
            available=Message.joined(", ", [Message(attention.inline) for attention in attentions.values()]),
        )
    n_layers = attentions[component.attention].n_layers(config)
    if component.layer >= n_layers:
        raise ConfigError(
            "there is no layer {layer} in the {attention}; the last is {last}, counted from 0",
            layer=component.layer,
            attention=Message(ATTENTIONS[component.attention].inline),
            last=n_layers - 1,
        )
    n_heads = head_count(config, component)
    for head in component.heads or ():
        if head >= n_heads:
            raise ConfigError(
                "there is no head {head} in this layer, which has {n}; the last is {last}, counted from 0",
                head=head,
                n=n_heads,
                last=n_heads - 1,
            )
    has_cross = component.attention == "decoder" and config.has_encoder
    needs_feed_forward = component.kind == "feed_forward" or (component.kind == "resid_mid" and not has_cross)
    if needs_feed_forward and not config.d_ff:
        raise ConfigError("the blocks of this model have no feed-forward network; choose another component")


def head_count(config: ModelConfig, component: records.Component) -> int:
    """Return the number of heads in a component's activation; keys and values may have fewer."""
    return config.n_kv_heads if component.kind in ("key", "value") else config.n_heads


def side_of(component: records.Component) -> str:
    """Return the side that a component's positions belong to, "source" or "target"."""
    attention = ATTENTIONS[component.attention]
    return attention.keys_from if component.kind in ("key", "value") else attention.queries_from


def _check_constant(config: ModelConfig, entry: records.Ablation) -> None:
    component = entry.component
    n = len(component.heads or range(head_count(config, component)))
    expected = n * config.d_head if component.kind in ("head", "query", "key", "value") else config.d_model
    if len(entry.constant) != expected:
        raise ConfigError(
            "the constant of this ablation needs {expected:,} numbers and has {n:,}; fit it for this component",
            expected=expected,
            n=len(entry.constant),
        )


def _check_tokens(config: ModelConfig, entry: records.TokenSwap) -> None:
    has_side = config.has_encoder if entry.side == "source" else config.has_decoder
    if not has_side:
        raise ConfigError("{kind} reads no {side}; swap tokens on the other side", kind=config.kind, side=entry.side)
    vocab_size = config.input_vocab_size if entry.side == "source" else config.vocab_size
    for token in entry.tokens:
        if token >= vocab_size:
            raise ConfigError(
                "token id {token} is not in the vocabulary; ids go from 0 to {last}",
                token=token,
                last=vocab_size - 1,
            )
        if token == config.suppressed_token_id:
            raise ConfigError("token {token} is padding and cannot be put at any position; choose another", token=token)
