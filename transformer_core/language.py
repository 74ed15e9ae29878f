"""The texts that people read, in their language: each is named by its English words, and catalogues have the others.

A catalogue is a folder of a language, `<folder>/de/*.po`, in gettext's format, so that any translator's tool reads it.
A text that no catalogue has stays English. Who asks is known to whoever shows the text: see `ask_for_language`.
"""

from collections.abc import Callable
from functools import cache
from gettext import GNUTranslations, NullTranslations
from io import BytesIO
from pathlib import Path
from typing import Any

ENGLISH = "en"
LANGUAGES = {ENGLISH: "English", "de": "Deutsch"}
"""What the interface can be read in, each by its own name."""


def mark(text: str) -> str:
    """Return a text as it is: a note for translators that `say` will be asked for it."""
    return text


def say(text: str, **values: Any) -> str:
    """Return a text in the reader's language.

    Args:
        text: in English, as a literal, or marked with `mark` where it stands; with {name} for each value.
        values: put in, each as in `str.format`.
    """
    said = _catalogue(language()).gettext(text) if text else ""
    return said.format(**values) if values else said


def say_number(number: int, one: str, many: str, **values: Any) -> str:
    """Return what is said of so many things in the reader's language: `one`, or `many`, with {n} for the number."""
    return _catalogue(language()).ngettext(one, many, number).format(n=number, **values)


def language() -> str:
    """Return the language of who reads, such as "de"."""
    asked = _ask()
    return asked if asked in LANGUAGES else ENGLISH


def ask_for_language(ask: Callable[[], str]) -> None:
    """Let a function say who reads; called each time that a text is said. By default all read English."""
    global _ask
    _ask = ask


def add_catalogues(folder: Path) -> None:
    """Take in the catalogues of another folder."""
    if folder not in _folders:
        _folders.append(folder)
        _catalogue.cache_clear()


def messages(language: str) -> dict[str, str]:
    """Return all texts that do not depend on a number, by their English words."""
    return {text: said for folder in _folders for text, said in _read(folder, language)[0].items()}


def _english() -> str:
    return ENGLISH


_ask = _english
_folders = [Path(__file__).with_name("languages")]


@cache
def _catalogue(language: str) -> NullTranslations:
    """Return the translations of all folders; none for English."""
    first = NullTranslations()
    for folder in _folders if language != ENGLISH else []:
        first.add_fallback(_read(folder, language)[1])
    return first


@cache
def _read(folder: Path, language: str) -> tuple[dict[str, str], NullTranslations]:
    """Return the plain texts of a folder's catalogue by their English words, and the catalogue."""
    from babel.messages.catalog import Catalog
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    whole = Catalog(locale=language)
    for place in sorted((folder / language).glob("*.po")):
        with place.open("rb") as file:
            for message in read_po(file, locale=language):
                if message.id:
                    whole[message.id] = message
    compiled = BytesIO()
    write_mo(compiled, whole)
    compiled.seek(0)
    plain = {message.id: message.string for message in whole if isinstance(message.id, str) and message.id}
    return {text: str(said) for text, said in plain.items() if said}, GNUTranslations(compiled)
