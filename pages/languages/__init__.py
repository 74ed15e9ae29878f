"""The catalogues of the app's texts, a folder a language, and what they lack.

`python -m pages.languages de` prints what German lacks, as entries to be filled in; name files to ask for theirs alone.
"""

import ast
import json
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_javascript
from babel.messages.pofile import read_po

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("pages", "transformer_core")
CATALOGUES = tuple(ROOT / room / "languages" for room in ROOMS)
_FIRST_TEXT = {"say": 0, "mark": 0, "say_number": 1}  # which argument it is


def said(files: Sequence[Path] = ()) -> Catalog:
    """Return every text that is said in the app, or in some of its files, with the places where it is."""
    found = Catalog()
    for file in files or sources():
        for line, text in _of_script(file) if file.suffix == ".js" else _of_module(file):
            found.add(text, locations=[(str(file.relative_to(ROOT)), line)])
    for place, text in [] if files else _of_data():
        found.add(text, locations=[(place, 1)])
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


def _of_script(file: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines and texts of a JavaScript file."""
    code = file.read_bytes()
    for line, _, given, _ in extract_javascript(BytesIO(code), {"say": None}, (), {"parse_template_string": True}):
        text = given[0] if isinstance(given, tuple | list) else given  # before the values, if there are some
        if text:  # none where a variable holds it
            yield line, str(text)


def _of_module(file: Path) -> Iterator[tuple[int, str | tuple[str, str]]]:
    """Yield the lines and texts of a Python file; pairs where a number decides."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FIRST_TEXT:
            first, is_number = _FIRST_TEXT[node.func.id], node.func.id == "say_number"
            texts = [
                argument.value
                for argument in node.args[first : first + 1 + is_number]
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str) and argument.value
            ]
            if texts:
                yield node.lineno, (texts[0], texts[1]) if is_number else texts[0]


def _of_data() -> Iterator[tuple[str, str]]:
    """Yield the texts that are said though no `say` holds them, and where they are: of what comes with Headlight."""
    from transformer_core.analysis.inventory import field_notes
    from transformer_core.corpora import CORPORA

    for corpus in CORPORA.values():
        yield "transformer_core/corpora", corpus.about.description
    for card in sorted((ROOT / "checkpoints").glob("*/card.json")):
        told = json.loads(card.read_text(encoding="utf-8"))
        for name in ("kind", "title", "description"):
            yield str(card.relative_to(ROOT)), told[name]
    for note in field_notes().values():
        yield "transformer_core/config.py", note


def sources() -> Iterator[Path]:
    """Yield the files that speak the reader's language; others may have a `say` of another meaning."""
    for room in ROOMS:
        yield from sorted((ROOT / room).rglob("*.js"))
        for file in sorted((ROOT / room).rglob("*.py")):
            if "from transformer_core.language import" in file.read_text(encoding="utf-8"):
                yield file
