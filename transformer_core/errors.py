"""Errors that users can cause and fix, with a message that says what is wrong, what was expected, and what to do.

Messages are in English. They keep their template and values, so that a page can translate them, also if they come from
another process or from a file.
"""

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, Self


@dataclass(frozen=True, init=False, repr=False)
class Message:
    """A sentence for users; `str` returns it in English.

    Args:
        template: in English, a literal with {name} for each value, as in `str.format`; or a message, to add values.
        plural: the template if the value `n` is not one; "" if there is only one form.
        values: numbers, texts or messages; other objects are converted to text.
    """

    template: str
    plural: str
    values: Mapping[str, "Value"] = field(hash=False)

    def __init__(self, template: "str | Message", /, plural: str = "", **values: Any) -> None:
        known: dict[str, Value] = {}
        if isinstance(template, Message):
            plural, known, template = template.plural, dict(template.values), template.template
        object.__setattr__(self, "template", template)
        object.__setattr__(self, "plural", plural)
        object.__setattr__(self, "values", known | {name: self._plain(name, value) for name, value in values.items()})

    @classmethod
    def joined(cls, separator: "str | Message", parts: Iterable["str | Message | HeadlightError"]) -> Self:
        """Join several sentences, names or numbers into one message."""
        values: dict[str, Any] = {f"part_{i}": part for i, part in enumerate(parts)}
        return cls("{separator}".join(f"{{{name}}}" for name in values), separator=separator, **values)

    @classmethod
    def from_json(cls, stored: object) -> Self:
        """Return the message that `as_json` has stored; a plain text, as in older files, becomes a message.

        Raises:
            TypeError: it is neither.
        """
        if isinstance(stored, str):
            return cls(stored)
        if not isinstance(stored, Mapping) or not isinstance(stored.get("values"), Mapping):
            raise TypeError(f"a message needs a template and values; got {stored!r}")
        template, plural = stored.get("template"), stored.get("plural", "")
        if not isinstance(template, str) or not isinstance(plural, str):
            raise TypeError(f"a message needs a template and values; got {stored!r}")
        values = {n: cls.from_json(v) if isinstance(v, Mapping) else v for n, v in stored["values"].items()}
        message = cls(template, plural=plural, **values)
        try:
            str(message)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise TypeError(f"the values do not fit the template; got {stored!r}") from error
        return message

    def as_json(self) -> dict[str, Any]:
        """Return template and values for JSON."""
        values = {name: value.as_json() if isinstance(value, Message) else value for name, value in self.values.items()}
        return {"template": self.template, **({"plural": self.plural} if self.plural else {}), "values": values}

    def replaced(self, old: str, new: "str | Message") -> Self:
        """Return the message with a text, such as a path, replaced in template and values."""

        def with_new(value: "Value") -> "Value":
            if isinstance(value, Message):
                return value.replaced(old, new)
            if isinstance(value, str):
                return new if value == old else value.replace(old, str(new))
            return value

        values: dict[str, Any] = {name: with_new(value) for name, value in self.values.items()}
        return type(self)(self.template.replace(old, str(new)), plural=self.plural, **values)

    def __bool__(self) -> bool:
        return bool(self.template)

    def __str__(self) -> str:
        text = self.plural if self.plural and self.values["n"] != 1 else self.template
        return text.format(**self.values) if self.values else text

    def __repr__(self) -> str:
        """Return the text alone, for {name!r} in another message; the template if values are missing."""
        try:
            return str(self)
        except KeyError:
            return self.template

    def _plain(self, name: str, value: object) -> "Value":
        if isinstance(value, HeadlightError):
            return value.message
        if value is None or isinstance(value, Message) or type(value) in (str, bool, int, float):
            return value  # type: ignore[return-value]  # mypy does not narrow by `type(...) in`
        if isinstance(value, Integral):
            return int(value)
        if isinstance(value, Real):
            return float(value)
        return Message(repr(value)) if f"{{{name}!r" in self.template else str(value)


Value = Message | str | float | None
NO_MESSAGE = Message("")  # falsy, like an empty string


def mark(text: str) -> str:
    """Return a text unchanged, marking it for translation elsewhere."""
    return text


class HeadlightError(ValueError):
    """Base of all errors that users can cause; any other exception is a bug.

    Args:
        template: as for `Message`.
        values: as for `Message`.
    """

    def __init__(self, template: str | Message, /, **values: Any) -> None:
        self.message = Message(template, **values)
        super().__init__(self.message)

    def replaced(self, old: str, new: str | Message) -> Self:
        """Return the error with a text in its message replaced, such as a path."""
        error = copy(self)
        error.message = self.message.replaced(old, new)
        error.args = (error.message,)
        return error

    def __reduce__(self) -> tuple[Any, ...]:
        """Make the error picklable, whatever arguments a subclass takes."""
        return type(self).__new__, (type(self), self.message), self.__dict__


class ConfigError(HeadlightError):
    """A configuration that is invalid, or unknown to this version."""


class ArgumentError(HeadlightError):
    """An argument that a function of the library does not accept."""


class TextError(HeadlightError):
    """A text or a sequence of tokens that a model does not accept."""


class CheckpointError(HeadlightError):
    """A model folder that is missing, incomplete or damaged."""


class UnsupportedModelError(CheckpointError):
    """A model of a family, or with an option, that this library does not compute."""


class SiteError(HeadlightError):
    """A hook site that the model does not have, or a head or a text that a site does not have."""


class InterventionError(HeadlightError):
    """An intervention that does not fit its site, or that returned something invalid."""


class NotFiniteError(HeadlightError):
    """Outputs that are NaN or infinite.

    Attributes:
        written: the tokens of each row so far, including the given ones.
    """

    written: list[list[int]]


class CorpusError(HeadlightError):
    """A corpus that is unknown, or data that a corpus cannot hold."""


class ProgramError(HeadlightError):
    """A program that cannot be read, compiled or run."""


class RunError(HeadlightError):
    """A training run that cannot start, resume, or be read."""
