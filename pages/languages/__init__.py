"""The catalogues of the app's texts, a folder a language, and what they lack.

`python -m pages.languages de` prints what German lacks, as entries to be filled in; name files to ask for theirs alone.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_file
from babel.messages.pofile import read_po

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("pages", "transformer_core")
CATALOGUES = tuple(ROOT / room / "languages" for room in ROOMS)
_KEYWORDS = {"say": None, "mark": None, "say_number": (2, 3)}


def said(files: Sequence[Path] = ()) -> Catalog:
    """Return every text that is said in the app, or in some of its files, with the places where it is."""
    found = Catalog()
    for file in files or _sources():
        method = "javascript" if file.suffix == ".js" else "python"
        for line, text, _, _ in extract_from_file(method, file, keywords=_KEYWORDS):
            found.add(text, locations=[(str(file.relative_to(ROOT)), line)])
    return found


def known(language: str) -> Catalog:
    """Return all catalogues of a language as one."""
    whole = Catalog(locale=language)
    for folder in CATALOGUES:
        for place in sorted((folder / language).glob("*.po")):
            with place.open("rb") as file:
                for message in read_po(file, locale=language):
                    if message.id:
                        whole[message.id] = message
    return whole


def missing(language: str, files: Sequence[Path] = ()) -> Catalog:
    """Return the texts that no catalogue of a language has."""
    lacking, there = Catalog(locale=language), known(language)
    for message in said(files):
        if message.id and (message.id not in there or not there[message.id].string):
            lacking.add(message.id, locations=message.locations)
    return lacking


def _sources() -> Iterator[Path]:
    """Yield the files that speak the reader's language; others may have a `say` of another meaning."""
    for room in ROOMS:
        yield from sorted((ROOT / room).rglob("*.js"))
        for file in sorted((ROOT / room).rglob("*.py")):
            if "from transformer_core.language import" in file.read_text(encoding="utf-8"):
                yield file
