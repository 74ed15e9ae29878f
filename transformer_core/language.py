"""The texts that people read, in their language: each is named by its English words, and catalogues have the others.

A catalogue is a folder of a language, `<folder>/de/*.po`, in gettext's format, so that any translator's tool reads it.
A text that no catalogue has stays English. Who asks is known to whoever shows the text: see `ask_for_language`.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache
from gettext import GNUTranslations, NullTranslations
from io import BytesIO
from pathlib import Path
from string import Formatter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from babel.messages.catalog import Message

ENGLISH = "en"
LANGUAGES = {ENGLISH: "English", "de": "Deutsch"}
"""What the interface can be read in, each by its own name."""


_THIN_SPACE = "\u202f"
_SLOT = re.compile(r"((?<!\{)\{[^{}]+\}(?!\}))")  # of a value in a text
_BETWEEN_SENTENCES = re.compile(r"(; |\. )")
_LEAST_LETTERS = 8  # of a sentence that is told from others by its own words


def mark(text: str) -> str:
    """Return a text as it is: a note for translators that `say` will be asked for it."""
    return text


def say(text: str, /, **values: Any) -> str:
    """Return a text in the reader's language.

    Args:
        text: in English, as a literal, or marked with `mark` where it stands; with {name} for each value.
        values: put in, each as in `str.format`.
    """
    reader = language()
    said = _catalogue(reader).gettext(text) if text else ""
    return _put_in(said, values, reader) if values else said


def say_number(number: int, one: str, many: str, /, **values: Any) -> str:
    """Return what is said of so many things in the reader's language: `one`, or `many`, with {n} for the number."""
    reader = language()
    return _put_in(_catalogue(reader).ngettext(one, many, number), {"n": number, **values}, reader)


def grouped(number: float, form: str = ",") -> str:
    """Return a number with its thousands set apart as the reader's language does.

    Args:
        number: to be written.
        form: as in `format`, with a comma.
    """
    written = format(number, form)
    return written if language() == ENGLISH else _spaced(written)


def say_again(english: str) -> str:
    """Return a text in the reader's language that was said in English elsewhere: by another process, or into a file.

    Its sentence is found among the catalogues' English ones, and its values, which stand where the sentence leaves
    room for them, are said again in their turn. What no catalogue has stays as it is.
    """
    reader = language()
    return english if reader == ENGLISH or not english else _said_again(english, reader)


def language() -> str:
    """Return the language of who reads, such as "de"."""
    asked = _fixed.get() or _ask()
    return asked if asked in LANGUAGES else ENGLISH


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Say all within in one language, whoever reads: what goes into files is English."""
    before = _fixed.set(language)
    try:
        yield
    finally:
        _fixed.reset(before)


def ask_for_language(ask: Callable[[], str]) -> None:
    """Let a function say who reads; called each time that a text is said. By default all read English."""
    global _ask
    _ask = ask


def add_catalogues(folder: Path) -> None:
    """Take in the catalogues of another folder."""
    if folder not in _folders:
        _folders.append(folder)
        _catalogue.cache_clear()
        _said_again.cache_clear()
        messages.cache_clear()


@cache
def messages(language: str) -> Mapping[str, str]:
    """Return all texts that do not depend on a number, by their English words."""
    entries = (message for folder in reversed(_folders) for message in _read(folder, language))
    return MappingProxyType({m.id: str(m.string) for m in entries if isinstance(m.id, str) and m.string})


def _spaced(written: str) -> str:
    """Return a number with a narrow space between thousands: a comma stands before decimals in other languages."""
    return written.replace(",", _THIN_SPACE)


class _Spaced(Formatter):
    """Sets thousands apart as other languages than English do."""

    def format_field(self, value: Any, format_spec: str) -> str:
        written: str = super().format_field(value, format_spec)
        return _spaced(written) if "," in format_spec else written


class _Sentence:
    """An English sentence with room for values, which finds them in a text.

    Args:
        texts: the sentence; of one that depends on a number its two forms, of which `form` is to be found.
    """

    def __init__(self, texts: tuple[str, ...], form: int = 0) -> None:
        self._texts, self._form = texts, form
        parts = [*_SLOT.split(texts[form])]
        self.literals = [part.replace("{{", "{").replace("}}", "}") for part in parts[::2]]
        self._slots = parts[1::2]

    @property
    def n_letters(self) -> int:
        """How much of it is its own."""
        return sum(letter.isalpha() for literal in self.literals for letter in literal)

    @property
    def is_clear(self) -> bool:
        """Whether values can be found: each stands between words or marks, and the sentence says something itself."""
        return self.n_letters >= _LEAST_LETTERS and bool(self._slots) and all(self.literals[1:-1])

    def read(self, text: str) -> dict[str, str] | None:
        """Return the values by their slots, each with its braces; None: it is another sentence."""
        first, *between, last = self.literals
        if not text.startswith(first) or not text.endswith(last) or len(text) < len(first) + len(last):
            return None
        rest, found = text[len(first) : len(text) - len(last)], []
        for literal in between:
            value, literal, rest = rest.partition(literal)
            if not literal:
                return None
            found.append(value)
        values = dict(zip(self._slots, [*found, rest], strict=True))
        return values if all(values.values()) else None

    def say(self, catalogue: NullTranslations, values: dict[str, str]) -> str:
        """Return it in another language, with the values that were found."""
        one, *many = self._texts
        if not many:
            said = catalogue.gettext(one)
        else:
            digits = (re.sub(r"\D", "", value) for slot, value in values.items() if slot.startswith(("{n}", "{n:")))
            said = catalogue.ngettext(one, many[0], int(next(digits, "") or self._form + 1))
        parts = [*_SLOT.split(said)]
        parts[::2] = [part.replace("{{", "{").replace("}}", "}") for part in parts[::2]]
        parts[1::2] = [values.get(slot, slot) for slot in parts[1::2]]
        return "".join(parts)


@lru_cache(maxsize=1024)
def _said_again(english: str, reader: str) -> str:
    whole: str = _catalogue(reader).gettext(english)
    if whole != english:
        return whole
    for sentence in _sentences(reader):
        if (values := sentence.read(english)) is not None:
            return sentence.say(_catalogue(reader), {slot: _value(of, slot, reader) for slot, of in values.items()})
    parts = _BETWEEN_SENTENCES.split(english)
    parts[::2] = [_said_again(part, reader) for part in parts[::2]] if len(parts) > 1 else parts
    return "".join(parts)


def _value(found: str, slot: str, reader: str) -> str:
    if "," in slot:  # a number, whose thousands were set apart by commas
        return _spaced(found)
    return _said_again(found, reader) if " " in found else found  # one word may be a name that a text only looks like


@cache
def _sentences(language: str) -> list[_Sentence]:
    """Return the core's sentences with room for values, those that say most themselves first."""
    found = []
    for message in _read(_folders[0], language):
        texts = (message.id,) if isinstance(message.id, str) else tuple(message.id)
        found += [_Sentence(texts, form) for form in range(len(texts))]
    return sorted((sentence for sentence in found if sentence.is_clear), key=lambda sentence: -sentence.n_letters)


def _put_in(said: str, values: dict[str, Any], reader: str) -> str:
    return said.format(**values) if reader == ENGLISH else _Spaced().vformat(said, (), values)


def _english() -> str:
    return ENGLISH


_ask = _english
_fixed: ContextVar[str] = ContextVar("language", default="")
_folders = [Path(__file__).with_name("languages")]


@cache
def _catalogue(language: str) -> NullTranslations:
    """Return the translations of all folders, of which the first counts; none for English."""
    if language == ENGLISH:
        return NullTranslations()
    from babel.messages.catalog import Catalog
    from babel.messages.mofile import write_mo

    whole = Catalog(locale=language)
    for folder in reversed(_folders):
        for message in _read(folder, language):
            whole[message.id] = message
    compiled = BytesIO()
    write_mo(compiled, whole)
    compiled.seek(0)
    return GNUTranslations(compiled)


@cache
def _read(folder: Path, language: str) -> "list[Message]":
    """Return the entries of a folder's catalogues."""
    from babel.messages.pofile import read_po

    entries = []
    for place in sorted((folder / language).glob("*.po")):
        with place.open("rb") as file:
            entries += [message for message in read_po(file, locale=language) if message.id]
    return entries
