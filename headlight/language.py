"""Translation of the texts that users read; the English text is the key, as in gettext.

Catalogues are folders of PO files per language, `<folder>/de/*.po`. Texts without a translation stay English. The
program sets a function that returns the reader's language: see `ask_for_language`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from gettext import GNUTranslations, NullTranslations
from io import BytesIO
from numbers import Number
from pathlib import Path
from string import Formatter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import transformer_core
from transformer_core.errors import HeadlightError, Message

if TYPE_CHECKING:
    from babel.messages.catalog import Message as Entry

ENGLISH = "en"
LANGUAGES = {ENGLISH: "English", "de": "Deutsch"}
"""The languages of the interface, each by its own name."""

_SEPARATORS = str.maketrans({",": "\u202f", ".": ",", "%": "\u00a0%"})  # no line breaks at these spaces


def say(text: str, /, **values: Any) -> str:
    """Return a text in the reader's language.

    Args:
        text: in English, as a literal or marked with `mark`; with {name} for each value.
        values: as for `str.format`; messages and errors are translated.
    """
    reader = language()
    translated = _catalogue(reader).gettext(text) if text else ""
    return _put_in(translated, values, reader) if values else translated


def say_number(number: int, one: str, many: str, /, **values: Any) -> str:
    """Return the singular or plural text in the reader's language: `one`, or `many`, with {n} for the number."""
    reader = language()
    return _put_in(_catalogue(reader).ngettext(one, many, number), {"n": number, **values}, reader)


def say_message(message: Message | HeadlightError) -> str:
    """Return a message, or that of an error, in the reader's language."""
    if isinstance(message, HeadlightError):
        return say_message(message.message)
    if message.plural:
        values: dict[str, Any] = dict(message.values)
        return say_number(values["n"], message.template, message.plural, **values)
    return say(message.template, **message.values)


def localized(number: float, form: str = ",") -> str:
    """Format a number as `format` does, with the separators of the reader's language: 1,234.5 is 1 234,5 in German."""
    return separated([format(number, form)])[0]


def percent(share: float, decimals: int = 0) -> str:
    """Format a share in [0, 1] as a percentage, as in the reader's language."""
    return localized(share, f".{decimals}%")


def separated(numbers: Sequence[str]) -> list[str]:
    """Return formatted numbers with the separators of the reader's language."""
    return [*numbers] if language() == ENGLISH else [number.translate(_SEPARATORS) for number in numbers]


def language() -> str:
    """Return the reader's language, such as "de"."""
    reader = _fixed.get() or _ask()
    return reader if reader in LANGUAGES else ENGLISH


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Use a language within this context regardless of the reader's, for example English for files."""
    before = _fixed.set(language)
    try:
        yield
    finally:
        _fixed.reset(before)


def ask_for_language(ask: Callable[[], str]) -> None:
    """Set the function that returns the reader's language, called for each text. The default is English."""
    global _ask
    _ask = ask


def add_catalogues(*folders: Path) -> None:
    """Add the catalogues of other folders."""
    if new := [folder for folder in folders if folder not in _folders]:
        _folders.extend(new)
        _catalogue.cache_clear()
        messages.cache_clear()
        plural_forms.cache_clear()


@cache
def messages(language: str) -> Mapping[str, str]:
    """Return all texts without plural forms by their English text."""
    entries = (message for folder in reversed(_folders) for message in _read(folder, language))
    return MappingProxyType({m.id: str(m.string) for m in entries if isinstance(m.id, str) and m.string})


@cache
def plural_forms(language: str) -> Mapping[str, Mapping[str, str]]:
    """Return the texts with plural forms by their English singular, each by CLDR's plural categories."""
    entries = (message for folder in reversed(_folders) for message in _read(folder, language))
    plurals = [m.id for m in entries if isinstance(m.id, tuple) and all(m.string or ())]
    say_of = _catalogue(language).ngettext
    numbers = _numbers(language)
    return MappingProxyType({one: {name: say_of(one, many, n) for name, n in numbers.items()} for one, many in plurals})


def _numbers(language: str) -> dict[str, int]:
    """Return an example of each plural category that whole numbers have in a language."""
    from babel import Locale

    category = Locale.parse(language).plural_form
    return {category(n): n for n in (1_000_000, *reversed(range(200)))}


class _Localized(Formatter):
    """Translates messages, and formats numbers as in languages other than English."""

    def convert_field(self, value: Any, conversion: Any) -> Any:
        is_message = isinstance(value, Message | HeadlightError)
        return say_message(value) if is_message else super().convert_field(value, conversion)

    def format_field(self, value: Any, format_spec: str) -> str:
        written: str = super().format_field(value, format_spec)
        return written.translate(_SEPARATORS) if isinstance(value, Number) else written


def _put_in(text: str, values: Mapping[str, Any], reader: str) -> str:
    return text.format(**values) if reader == ENGLISH else _Localized().vformat(text, (), values)


def _english() -> str:
    return ENGLISH


_ask = _english
_fixed: ContextVar[str] = ContextVar("language", default="")
_folders = [Path(transformer_core.__file__).with_name("languages"), Path(__file__).with_name("languages")]


@cache
def _catalogue(language: str) -> NullTranslations:
    """Return the translations of all folders; the first of a text counts. None for English."""
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
def _read(folder: Path, language: str) -> "list[Entry]":
    from babel.messages.pofile import read_po

    entries = []
    for place in sorted((folder / language).glob("*.po")):
        with place.open("rb") as file:
            entries += [message for message in read_po(file, locale=language) if message.id]
    return entries
