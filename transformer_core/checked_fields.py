"""Checked fields of dataclasses: annotations contain rules, and one call checks all of them."""

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from string import Formatter
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from transformer_core.errors import ConfigError, Message


@dataclass(frozen=True)
class Rule:
    """The allowed values of a field."""

    allows: Callable[[Any], bool]
    refusal: Message  # with {name} and {value!r}


def is_number(value: object) -> bool:
    """Return whether `value` is a number that a float can hold, and not a boolean."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def is_above_zero(value: Any) -> bool:
    """Return whether `value` is a number above 0."""
    return is_number(value) and value > 0


def is_share(value: Any) -> bool:
    """Return whether `value` is a number in [0, 1)."""
    return is_number(value) and 0 <= value < 1


def at_least(least: int) -> Rule:
    """Return a rule that allows whole numbers of at least `least`."""
    return Rule(
        lambda value: type(value) is int and value >= least,
        Message("{name} must be a whole number of at least {least}, got {value!r}", least=least),
    )


def between(least: int, most: int) -> Rule:
    """Return a rule that allows whole numbers from `least` to `most`, inclusive."""
    return Rule(
        lambda value: type(value) is int and least <= value <= most,
        Message("{name} must be a whole number from {least} to {most:,}, got {value!r}", least=least, most=most),
    )


@dataclass(frozen=True)
class Refusal:
    """An invalid combination of fields."""

    applies: Callable[[Any], Any]  # whether a record contains the combination
    message: Message  # why, and what to do; {names} in it are attributes of the record, or `computed`
    computed: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)  # further values for the message


def needs(name: str, is_used: Callable[[Any], Any], where: str | Message, *, idle: Any = None) -> Refusal:
    """Return the `Refusal` of a field that is set but has no effect.

    Args:
        name: the field's name.
        is_used: whether the field has an effect.
        where: the condition for that, in words.
        idle: the only value allowed while the field has no effect; None: the field's default.
    """

    def applies(record: Any) -> bool:
        return not is_used(record) and getattr(record, name) != (getattr(type(record), name) if idle is None else idle)

    message = Message("{name} = {value!r} has no effect without {where}", name=name, where=where)
    return Refusal(applies, message, {"value": lambda record: getattr(record, name)})


Count = Annotated[int, at_least(1)]
CountOrZero = Annotated[int, at_least(0)]
Share = Annotated[float, Rule(is_share, Message("{name} must lie in [0, 1), got {value!r}"))]
Probability = Annotated[float, Rule(is_share, Message("{name} is a probability and must lie in [0, 1), got {value!r}"))]
AboveZero = Annotated[float, Rule(is_above_zero, Message("{name} must be a number above 0, got {value!r}"))]
_SWITCH = Rule(lambda value: isinstance(value, bool), Message("{name} must be true or false, got {value!r}"))


def check_fields(record: object) -> None:
    """Check each field of a dataclass against its type: rules in `Annotated`, choices of a `Literal`, and booleans.

    Raises:
        ConfigError: a value that is not allowed; the message names the field and says what is allowed.
    """
    kind: Any = type(record)
    check_values(kind, {name: getattr(record, name) for name in _rules(kind)})


def check_values(kind: Any, values: Mapping[str, Any]) -> None:
    """Check values for some fields of a dataclass; errors as for `check_fields`."""
    for name, rule in _rules(kind).items():
        if name in values and not rule.allows(values[name]):
            raise ConfigError(rule.refusal, name=name, value=values[name])


def check_together(record: object, refusals: Iterable[Refusal]) -> None:
    """Check combinations of fields.

    Raises:
        ConfigError: the first refusal that applies.
    """
    for refusal in refusals:
        if refusal.applies(record):
            names = {name for _, name, _, _ in Formatter().parse(refusal.message.template) if name}
            names -= refusal.message.values.keys()
            values = {n: refusal.computed[n](record) if n in refusal.computed else getattr(record, n) for n in names}
            raise ConfigError(refusal.message, **values)


@cache
def _rules(record: Any) -> Mapping[str, Rule]:
    kinds = get_type_hints(record, include_extras=True)
    return {name: rule for name, kind in kinds.items() if (rule := _rule(kind)) is not None}


def _rule(kind: Any) -> Rule | None:
    if get_origin(kind) is Literal:
        choices = get_args(kind)
        refusal = Message("{name} must be one of {choices}; got {value!r}", choices=", ".join(choices))
        return Rule(lambda value: value in choices, refusal)
    if NoneType in get_args(kind):
        (rule,) = (_rule(member) for member in get_args(kind) if member is not NoneType)
        return rule and Rule(lambda value: value is None or rule.allows(value), rule.refusal)
    if kind is bool:
        return _SWITCH
    return next((rule for rule in getattr(kind, "__metadata__", ()) if isinstance(rule, Rule)), None)
