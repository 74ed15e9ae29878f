"""Formatting of the Python lines that pages show: import statements and the wrapping of long lines."""

import sys
import textwrap
from collections.abc import Iterable, Sequence
from importlib import import_module
from inspect import ismodule
from typing import Any

WIDTH = 100  # characters of a line, beyond which a call has a line for each argument
SHORT = {
    "headlight": "hl",
    "transformer_core": "tc",
    "numpy": "np",
    "torch": "torch",
}  # modules that are imported whole, and their names


def home(value: Any) -> tuple[str, str]:
    """Return the line that imports a function, a class or a module, and the name that it binds.

    The import is from the outermost package that exports it.

    Raises:
        ValueError: its module has no such attribute.
    """
    if ismodule(value):
        return f"import {value.__name__}", value.__name__
    name, parts = value.__name__, value.__module__.split(".")
    if value.__module__ == "builtins":
        return "", name
    for n in range(1, len(parts) + 1):
        package = ".".join(parts[:n])
        if getattr(import_module(package), name, None) is value:
            short = SHORT.get(package)
            if short is None:
                return f"from {package} import {name}", name
            return f"import {package}" + (f" as {short}" if short != package else ""), f"{short}.{name}"
    raise ValueError(f"{name} is not found in {value.__module__}")


def in_groups(imports: Iterable[str]) -> list[str]:
    """Return the imports as this project orders them: Python's, others', ours; one line for each module."""
    names: dict[str, set[str]] = {}
    whole = set()
    for line in filter(None, imports):
        package, _, name = line.removeprefix("from ").partition(" import ")
        if line.startswith("from "):
            names.setdefault(package, set()).add(name)
        else:
            whole.add(line)
    lines = [*whole, *(f"from {package} import {', '.join(sorted(of))}" for package, of in names.items())]
    groups: dict[int, list[str]] = {}
    for line in sorted(lines, key=lambda line: (line.startswith("from "), line)):
        package = line.split()[1].partition(".")[0]
        place = 0 if package in sys.stdlib_module_names else 2 if package in ("headlight", "transformer_core") else 1
        groups.setdefault(place, []).append(line)
    return ["\n".join(groups[place]) for place in sorted(groups)]


def enclosed(before: str, parts: Sequence[str], after: str, between: str, at_end: str = "") -> str:
    """Return parts on one line, or on a line each."""
    line = f"{before}{between.join(parts)}{after}"
    if len(line) <= WIDTH and "\n" not in line:
        return line
    lines = "".join(f"{part}{at_end}\n" for part in parts)
    return f"{before}\n{textwrap.indent(lines, '    ')}{after}"
