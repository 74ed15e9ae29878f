"""How a lesson's file is divided: lines at its head, prose, and blocks that begin with a word in square brackets.

    title: Where does it look?
    model: en-fr

    Prose in Markdown, as much as there is to say.

    [question]
    ask: Which word does this head look at?
    choice: animal
    choice: street

A block is a few lines `key: value` up to the next empty line; a line that begins with blanks goes on with the last one.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pages.learn.tour.lesson_engine.errors import LessonError

BLOCKS = ("figure", "question", "check", "link")
_KEY = re.compile(r"([A-Za-z][A-Za-z_ ]*?)\s*:(?:\s+(.*))?$")
_BEGINNING = re.compile(r"\[([A-Za-z]+)\]\s*$")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A key and its value."""

    key: str
    value: str
    line: int


@dataclass(frozen=True, kw_only=True)
class Block:
    """Some entries, or a stretch of prose."""

    kind: str  # "head", "prose", or one of `BLOCKS`
    entries: tuple[Entry, ...]
    prose: str
    line: int


def divide(text: str) -> list[Block]:
    """Return the blocks of a lesson, the head first.

    Raises:
        LessonError: a line that cannot be there.
    """
    lines = text.removeprefix("\ufeff").splitlines()
    first = next((i for i, line in enumerate(lines) if line.strip()), len(lines))
    end = _end(lines, first)
    blocks, prose_from = [Block(kind="head", entries=_entries(lines, first, end), prose="", line=first + 1)], end
    for at in range(end, len(lines)):
        beginning = _BEGINNING.match(lines[at])
        if beginning is None:
            continue
        kind = beginning[1].lower()
        if kind not in BLOCKS:
            there = ", ".join(f"[{name}]" for name in BLOCKS)
            raise LessonError("there is no block [{name}], only {there}", name=beginning[1], there=there, line=at + 1)
        blocks += _prose(lines, prose_from, at)
        prose_from = _end(lines, at + 1)
        blocks.append(Block(kind=kind, entries=_entries(lines, at + 1, prose_from), prose="", line=at + 1))
    return blocks + _prose(lines, prose_from, len(lines))


def _end(lines: Sequence[str], first: int) -> int:
    """Return where the lines from `first` on end: at an empty one, at another block, or at the end of the file."""
    return next((i for i in range(first, len(lines)) if not lines[i].strip() or _BEGINNING.match(lines[i])), len(lines))


def _entries(lines: Sequence[str], first: int, end: int) -> tuple[Entry, ...]:
    entries: list[Entry] = []
    for i in range(first, end):
        line = lines[i]
        if line[0] in " \t" and entries:
            entries[-1] = replace(entries[-1], value=f"{entries[-1].value} {line.strip()}".strip())
            continue
        match = _KEY.match(line.strip())
        if match is None:
            got = line.strip()[:40]
            raise LessonError("expected a key with a colon, such as title: …; got “{text}”", text=got, line=i + 1)
        entries.append(Entry(key=match[1].lower().replace("_", " "), value=(match[2] or "").strip(), line=i + 1))
    return tuple(entries)


def _prose(lines: Sequence[str], first: int, end: int) -> list[Block]:
    while first < end and not lines[first].strip():
        first += 1
    text = "\n".join(lines[first:end]).rstrip()
    return [Block(kind="prose", entries=(), prose=text, line=first + 1)] if text else []
