"""JavaScript modules import each other in one direction: none is part of a circle."""

import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("pages", "headlight", "tests")
_IMPORTED = re.compile(r"""(?:\bfrom|\bimport)\s*\(?\s*["'](\.[^"']+)["']""")


def problems(root: Path = ROOT) -> Iterator[str]:
    """Yield a line for each circle: its modules, from one of them back to it."""
    files = [file for folder in FOLDERS for file in sorted((root / folder).rglob("*.js"))]
    imports = {file: _imports(file) for file in files}
    while circle := _circle(imports):
        yield " -> ".join(file.relative_to(root).as_posix() for file in circle)
        imports[circle[0]].discard(circle[1])  # so that the next one is found


def _imports(file: Path) -> set[Path]:
    return {(file.parent / path).resolve() for path in _IMPORTED.findall(file.read_text(encoding="utf-8"))}


def _circle(imports: dict[Path, set[Path]]) -> list[Path]:
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return error.args[1][::-1]  # each module is followed by one that it imports
    return []
