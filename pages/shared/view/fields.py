"""The user's choices and their widgets; each widget is bound to its value by one method call.

A `Field` is part of a page's view: it has a name in the URL, a default value and a check. The URL names only values
that differ from the default; an invalid value is reported in one sentence, and the default is used. A `Kept` value
lasts as long as the session, and is not written to the URL here.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TypeVar

import streamlit as st

from headlight.language import say
from pages.shared import lines, prose
from pages.shared.view import long_texts

T = TypeVar("T")
_NUMBER = re.compile(r"\d{1,6}")


_VALUE: Any = object()  # a widget shows the value itself


class Control:
    """A choice of the user, stored in the session.

    The methods that draw a widget take its label, what can be chosen, and Streamlit's own options. Besides:

        shown: what the widget shows; without it, the value.
        take: is given what a person chose; without it, that is the value, and nothing chosen is the usual one.
        name: says each option; words, never markup.
        part: tells several widgets of one choice apart.
    """

    key: str  # its key in the session
    usual: Any

    @property
    def value(self) -> Any:
        """The chosen value, or the default if nothing was chosen."""
        return st.session_state.get(self.key, self.usual)

    @property
    def is_chosen(self) -> bool:
        """Whether it was chosen in this session, even if the default was."""
        return self.key in st.session_state

    def set(self, value: Any) -> None:
        """Choose."""
        st.session_state[self.key] = value

    def pop(self) -> Any:
        """Return the choice, and reset it to the default."""
        return st.session_state.pop(self.key, self.usual)

    def selectbox(self, label: str, options: Iterable[Any], **how: Any) -> None:
        """Draw a drop-down list for one of several options."""
        how.setdefault("format_func", how.pop("name", str))
        options = [*options]
        among = None if how.get("accept_new_options") else options
        st.selectbox(prose.plain(label), options, **self._bound(how, among))

    def multiselect(self, label: str, options: Iterable[Any], **how: Any) -> None:
        """Draw a drop-down list for any number of options."""
        how.setdefault("format_func", how.pop("name", str))
        options = [*options]
        st.multiselect(prose.plain(label), options, **self._bound(how, options))

    def segmented(self, label: str, options: Iterable[Any], **how: Any) -> None:
        """Draw side-by-side buttons for one of a few options."""
        name = how.pop("name", str)
        how = {"label_visibility": "collapsed", "part": "segments"} | how
        st.segmented_control(
            prose.plain(label),
            options,
            format_func=lambda option: prose.plain(name(option)),
            required=True,
            **self._bound(how),
        )

    def select_slider(self, label: str, options: Iterable[Any], **how: Any) -> None:
        """Draw a slider for one of many ordered options."""
        how.setdefault("format_func", how.pop("name", str))
        st.select_slider(prose.plain(label), options, **self._bound(how))

    def slider(self, label: str, lowest: Any, highest: Any, **how: Any) -> None:
        """Draw a slider for a number or a range between two limits."""
        st.slider(prose.plain(label), lowest, highest, **self._bound(how))

    def number(self, label: str, lowest: Any = None, highest: Any = None, **how: Any) -> None:
        """Draw a number input."""
        st.number_input(prose.plain(label), lowest, highest, **self._bound(how))

    def text(self, label: str, **how: Any) -> None:
        """Draw a single-line text input."""
        st.text_input(prose.plain(label), **({"autocomplete": "off"} | self._bound(how)))

    def text_line(self, label: str, **how: Any) -> None:
        """Draw a single-line input for a model's text that preserves white space, in the notation of lines.py."""
        shown, take, key = how.pop("shown", self.value), how.pop("take", self.set), f"{self.key}-line"
        line = lines.to_box(shown or "")
        if st.session_state.get(key) != line:  # otherwise the text being typed would be lost
            st.session_state[key] = line

        def on_change() -> None:
            take(long_texts.clean(lines.from_box(st.session_state[key] or "")))

        how |= {"key": key, "on_change": on_change, "autocomplete": "off", "persist_state": "session"}
        st.text_input(prose.plain(label), **how)

    def text_area(self, label: str, **how: Any) -> None:
        """Draw a multi-line text input."""
        st.text_area(prose.plain(label), **self._bound(how))

    def toggle(self, label: str, **how: Any) -> None:
        """Draw a switch."""
        st.toggle(prose.plain(label), **self._bound(how))

    def expander(self, label: str, **how: Any) -> AbstractContextManager[Any]:
        """Draw an expander that is folded until it is opened."""
        return st.expander(prose.plain(label), **self._bound(how))

    def _bound(self, how: dict[str, Any], among: Sequence[Any] | None = None) -> dict[str, Any]:
        """Return the options that bind a widget to this choice.

        Args:
            how: the caller's options.
            among: the valid values. A browser may still send one that was valid earlier, for another text or in
                another language; it is ignored. None: any value of the widget is taken.
        """
        shown, take, part = how.pop("shown", _VALUE), how.pop("take", None), how.pop("part", "box")
        key = f"{self.key}-{part}"
        st.session_state[key] = self.value if shown is _VALUE else shown

        def on_change() -> None:
            chosen = st.session_state[key]
            every = chosen if isinstance(chosen, list) else [chosen]
            if among is not None and not all(one is None or one in among for one in every):
                return
            chosen = self.usual if chosen is None else chosen
            self.set(chosen) if take is None else take(chosen)

        return how | {"key": key, "on_change": on_change}


@dataclass(frozen=True)
class Kept(Control):
    """A choice that lasts as long as the session."""

    key: str
    usual: Any = None


@dataclass(frozen=True)
class Field(Control):
    """A choice on a page that a link restores."""

    page: str  # address of the page
    name: str  # in the URL
    usual: Any
    read: Callable[[str], Any]  # from the URL; raises ValueError with what would be correct
    write: Callable[[Any], str] = str
    is_of_model: bool = False  # it refers to what only this model has, such as token ids; it is reset for another model

    @property
    def key(self) -> str:  # type: ignore[override]
        """Its key in the session."""
        return f"{self.page}-{self.name}"

    def fill(self, wanted: Mapping[str, str]) -> None:
        """Choose the value in the URL's parameters, else the default.

        Raises:
            ValueError: the value is invalid; the default is chosen.
        """
        self.set(self.usual)
        if self.name in wanted:
            self.set(self.read(wanted[self.name]))

    def parameters(self) -> dict[str, str]:
        """Return its value in the URL: none if it is the default."""
        is_usual = self.value in (self.usual, st.session_state.get(f"{self.key}-found", self.usual))
        return {} if is_usual else {self.name: self.write(self.value)}

    def found(self, value: Any) -> None:
        """Set the value that the page shows if nothing is chosen, as determined by the rest of the view."""
        st.session_state[f"{self.key}-found"] = value
        if self.value == self.usual:
            self.set(value)


@dataclass(frozen=True)
class TextField(Field):
    """A text that a person types; the URL packs a long one."""

    usual: str = ""
    read: Callable[[str], Any] = str

    def fill(self, wanted: Mapping[str, str]) -> None:
        """Choose the text in the URL's parameters, else the default."""
        self.set(self.usual)
        self.set(long_texts.asked(self.name, wanted) or self.usual)

    def parameters(self) -> dict[str, str]:
        """Return the text as URL parameters."""
        return {} if self.value == self.usual else long_texts.parameters(self.name, self.value)


def sent(key: str, event: str) -> Any:
    """Return the value that the component of this key sent for this run; None: none of this name."""
    return st.session_state.get(key, {}).get(event)


def fill(fields: Sequence[Field], wanted: Mapping[str, str]) -> list[str]:
    """Set every field from the URL's parameters; return one sentence for each invalid value."""
    notes = []
    for field in fields:
        try:
            field.fill(wanted)
        except ValueError as error:
            request = wanted.get(field.name) or wanted.get(long_texts.packed_name(field.name), "")
            payload = {"name": field.name, "wanted": request[:40], "error": error}
            notes.append(say("The address has {name} “{wanted}”; {error}.", **payload))
    return notes


def written(fields: Sequence[Field]) -> dict[str, str]:
    """Return the URL parameters of the fields that differ from their default."""
    return {name: value for field in fields for name, value in field.parameters().items()}


def one_of(*choices: str) -> Callable[[str], str]:
    """Return a parser that accepts one of a few words."""

    def read(text: str) -> str:
        if text not in choices:
            raise ValueError(
                say("it must be one of {choices}", choices=", ".join(choice for choice in choices if choice))
            )
        return text

    return read


def number(text: str) -> int:
    """Read a whole number from 0 on.

    Raises:
        ValueError: it is none.
    """
    if not _NUMBER.fullmatch(text):
        raise ValueError(say("it must be a whole number, 0 or more"))
    return int(text)


def whole(numbers: range) -> Callable[[str], int]:
    """Return a parser for an integer in a range, which must be even if the step of the range is 2."""

    def read(text: str) -> int:
        if text not in map(str, numbers):
            kind = say("an even number") if numbers.step == 2 else say("a whole number")
            ends = {"lowest": numbers[0], "highest": numbers[-1]}
            raise ValueError(say("it must be {kind} from {lowest} to {highest}", kind=kind, **ends))
        return int(text)

    return read


def matching(form: str, wanted: str, take: Callable[[re.Match[str]], T]) -> Callable[[str], T]:
    """Return a parser for texts that match a regular expression.

    Args:
        form: a regular expression.
        wanted: a message that says the format.
        take: converts a match to the value.
    """

    def read(text: str) -> T:
        match = re.fullmatch(form, text)
        if not match:
            raise ValueError(say(wanted))
        return take(match)

    return read


def number_pair(wanted: str) -> Callable[[str], tuple[int, int]]:
    """Return a parser of two whole numbers with a point between them, such as "7.12".

    Args:
        wanted: a message that says the format.
    """

    def read(text: str) -> tuple[int, int]:
        first, point, second = text.partition(".")
        if not point:
            raise ValueError(say(wanted))
        return number(first), number(second)

    return read


def write_pair(pair: tuple[int, int]) -> str:
    """Write two numbers as `number_pair` reads them."""
    return f"{pair[0]}.{pair[1]}"


def decimal(lowest: float, highest: float, *, above: bool = False) -> Callable[[str], float]:
    """Return a parser for a number within limits; `above`: larger than the lowest."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not (lowest < value or (not above and value == lowest)) or not value <= highest:
            if above:
                raise ValueError(
                    say("it must be a number above {lowest:g} and up to {highest:g}", lowest=lowest, highest=highest)
                )
            raise ValueError(say("it must be a number from {lowest:g} to {highest:g}", lowest=lowest, highest=highest))
        return value

    return read


def plain(value: float) -> str:
    """Format a number so that parsing it restores the same value."""
    return str(value).removesuffix(".0")


def text_up_to(most: int) -> Callable[[str], str]:
    """Return a parser that accepts any text and truncates it if it is too long."""
    return lambda text: text[:most]


Span = tuple[int, int]
"""The first and the last of some neighbouring tokens."""


def window(text: str) -> tuple[Span, Span]:
    """Parse the selected queries and keys, such as "0-12.3-9".

    Raises:
        ValueError: the text does not have this format.
    """
    match = re.fullmatch(r"(\d{1,6})-(\d{1,6})\.(\d{1,6})-(\d{1,6})", text)
    if match:
        first_query, last_query, first_key, last_key = map(int, match.groups())
        if first_query <= last_query and first_key <= last_key:
            return (first_query, last_query), (first_key, last_key)
    raise ValueError(say("the format is first-last query, a dot, first-last key: 0-12.3-9"))


def window_in_words(value: tuple[Span, Span]) -> str:
    """Format the selected queries and keys for the URL."""
    (first_query, last_query), (first_key, last_key) = value
    return f"{first_query}-{last_query}.{first_key}-{last_key}"
