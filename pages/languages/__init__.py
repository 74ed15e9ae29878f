"""The catalogues of the app's texts, one folder per language, and the texts that they lack.

`python -m pages.languages de` prints what German lacks, as entries to be filled in; name files to check only those.
"""

import ast
import json
from collections.abc import Iterator, Sequence
from functools import cache
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_javascript
from babel.messages.pofile import read_po

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("pages", "headlight", "transformer_core")
CATALOGUES = tuple(ROOT / room / "languages" for room in ROOMS)
_FIRST_TEXT = {"say": 0, "mark": 0, "say_number": 1}  # which argument it is; of messages and errors the first
_THEIR_MODULES = ("headlight.language", "transformer_core.errors")


def said(files: Sequence[Path] = ()) -> Catalog:
    """Return every text that is shown in the app, or in some of its files, with its locations."""
    result = Catalog()
    for file in files or sources():
        for line, text in _of_script(file) if file.suffix == ".js" else _of_module(file):
            result.add(text, locations=[(str(file.relative_to(ROOT)), line)])
    for place, text in [] if files else _of_data():
        result.add(text, locations=[(place, 1)])
    return result


def known(language: str) -> Catalog:
    """Return all catalogues of a language, merged into one."""
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


def _of_script(file: Path) -> Iterator[tuple[int, str | tuple[str, str]]]:
    """Yield the lines and texts of a JavaScript file; pairs of singular and plural where a number decides."""
    code = file.read_bytes()
    functions = {"say": None, "sayNumber": None}
    for line, name, given, _ in extract_javascript(BytesIO(code), functions, (), {"parse_template_string": True}):
        texts = given if isinstance(given, tuple | list) else (given,)
        if name == "sayNumber":
            yield line, (str(texts[1]), str(texts[2]))  # after the number
        elif texts[0]:  # before the values; none where a variable holds it
            yield line, str(texts[0])


def _of_module(file: Path) -> Iterator[tuple[int, str | tuple[str, str]]]:
    """Yield the lines and texts of a Python file; pairs of singular and plural where a number decides."""
    for call in calls_for_people(ast.parse(file.read_text(encoding="utf-8"))):
        match [text.value for text in templates(call) if isinstance(text, ast.Constant) and text.value]:
            case [str(text)]:
                yield call.lineno, text
            case [str(one), str(many)]:
                yield call.lineno, (one, many)


def calls_for_people(tree: ast.Module) -> Iterator[ast.Call]:
    """Yield the calls that say, mark or raise a text for a person."""
    imported = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module in _THEIR_MODULES]
    ours = {alias.name for n in imported for alias in n.names}  # others have a `say` of another meaning
    names = {*error_classes(), "Message", *(_FIRST_TEXT.keys() & ours)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and called(node) in names:
            yield node


def called(call: ast.Call) -> str:
    """Return the name of the called function, without the name of its module; "" for a method."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr if call.func.attr in error_classes() else ""
    return call.func.id if isinstance(call.func, ast.Name) else ""


def templates(call: ast.Call) -> list[ast.expr]:
    """Return the text of such a call, or its singular and plural where a number decides."""
    name = called(call)
    first = _FIRST_TEXT.get(name, 0)
    plural = [keyword.value for keyword in call.keywords if keyword.arg == "plural"]
    return call.args[first : first + 1 + (name == "say_number")] + plural


@cache
def error_classes() -> frozenset[str]:
    """Return the names of the errors whose messages are shown to people."""
    result, n_before = {"HeadlightError"}, 0
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in sources() if file.suffix == ".py"]
    classes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    while len(result) > n_before:
        n_before = len(result)
        result |= {c.name for c in classes if any(isinstance(base, ast.Name) and base.id in result for base in c.bases)}
    return frozenset(result)


def _of_data() -> Iterator[tuple[str, str]]:
    """Yield the texts in the data that come with Headlight, which no `say` contains, and their locations."""
    from headlight.figures.architecture.inventory import field_notes

    for card in sorted((ROOT / "checkpoints").glob("*/card.json")):
        text = json.loads(card.read_text(encoding="utf-8"))
        for name in ("kind", "title", "description"):
            yield str(card.relative_to(ROOT)), text[name]
    for note in field_notes().values():
        yield "transformer_core/config.py", note


def sources() -> Iterator[Path]:
    """Yield the files that may contain texts to translate."""
    for room in ROOMS:
        yield from sorted((ROOT / room).rglob("*.js"))
        yield from sorted((ROOT / room).rglob("*.py"))
