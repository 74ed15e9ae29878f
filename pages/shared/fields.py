"""What else defines the view of a page: fields, each with a place in the URL, a usual value, and a check.

The URL names only what is not as usual. What it says wrongly is told in one sentence, and the usual value stands in.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from transformer_core.language import say

_NUMBER = re.compile(r"\d{1,6}")


@dataclass(frozen=True)
class Field:
    """One thing that a person chooses on a page."""

    page: str  # its address
    name: str  # in the URL
    usual: Any
    read: Callable[[str], Any]  # from the URL; raises ValueError with what would be right
    write: Callable[[Any], str] = str

    @property
    def key(self) -> str:
        """Where it is in the session."""
        return f"{self.page}-{self.name}"

    @property
    def value(self) -> Any:
        """What is chosen; the usual value until then."""
        return st.session_state.get(self.key, self.usual)

    def set(self, value: Any) -> None:
        """Choose."""
        st.session_state[self.key] = value


def fill(fields: Sequence[Field], wanted: Mapping[str, str]) -> list[str]:
    """Set every field from the URL's parameters; return a sentence for each that could not be met."""
    notes = []
    for field in fields:
        field.set(field.usual)
        if field.name in wanted:
            try:
                field.set(field.read(wanted[field.name]))
            except ValueError as error:
                asked = {"name": field.name, "wanted": wanted[field.name][:40], "error": error}
                notes.append(say("The address asks for {name} “{wanted}”; {error}.", **asked))
    return notes


def written(fields: Sequence[Field]) -> dict[str, str]:
    """Return what the URL says of the fields: those that are not as usual."""
    return {field.name: field.write(field.value) for field in fields if field.value != field.usual}


def one_of(*choices: str) -> Callable[[str], str]:
    """Return a check for a word out of a few."""

    def read(text: str) -> str:
        if text not in choices:
            raise ValueError(say("it can be {choices}", choices=", ".join(choice for choice in choices if choice)))
        return text

    return read


def number(text: str) -> int:
    """Read a whole number from 0 on.

    Raises:
        ValueError: it is none.
    """
    if not _NUMBER.fullmatch(text):
        raise ValueError(say("it is a whole number from 0 on"))
    return int(text)


def decimal(lowest: float, highest: float, *, above: bool = False) -> Callable[[str], float]:
    """Return a check for a number within limits; `above`: larger than the lowest."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not (lowest < value or (not above and value == lowest)) or not value <= highest:
            if above:
                raise ValueError(say("it is a number above {lowest:g} to {highest:g}", lowest=lowest, highest=highest))
            raise ValueError(say("it is a number from {lowest:g} to {highest:g}", lowest=lowest, highest=highest))
        return value

    return read


def plain(value: float) -> str:
    """Write a number so that it is read as the same."""
    return str(value).removesuffix(".0")


def text_up_to(most: int) -> Callable[[str], str]:
    """Return a check for any text, cut where it is too long."""
    return lambda text: text[:most]


Span = tuple[int, int]
"""The first and the last of some neighbouring tokens."""


def window(text: str) -> tuple[Span, Span]:
    """Read which queries and keys are looked at, such as "0-12.3-9".

    Raises:
        ValueError: it is not written so.
    """
    found = re.fullmatch(r"(\d{1,6})-(\d{1,6})\.(\d{1,6})-(\d{1,6})", text)
    if found:
        first_query, last_query, first_key, last_key = map(int, found.groups())
        if first_query <= last_query and first_key <= last_key:
            return (first_query, last_query), (first_key, last_key)
    raise ValueError(say("it is written as the first and last query, a point, and the first and last key: 0-12.3-9"))


def window_in_words(value: tuple[Span, Span]) -> str:
    """Write which queries and keys are looked at."""
    (first_query, last_query), (first_key, last_key) = value
    return f"{first_query}-{last_query}.{first_key}-{last_key}"
