"""Reads a lesson from the text of its file; errors name the line.

A file is a head, prose, and blocks that begin with a word in square brackets.

    title: Where does it look?
    model: en-fr

    Prose in Markdown, as much as there is to say.

    [question]
    ask: Which word does this head look at?
    choice: animal
    choice: street

A block is lines `key: value` up to the next empty line; an indented line continues the line before it.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headlight.language import localized
from pages.learn.tour.lesson_engine.catalogue import KINDS
from pages.learn.tour.lesson_engine.expressions import parse
from pages.learn.tour.lesson_engine.figure_kind import Read, attention, number, one_of, whole
from pages.learn.tour.lesson_engine.lesson import (
    Asked,
    Check,
    Choice,
    ExpressionError,
    FigureSpec,
    Lesson,
    LessonError,
    Link,
    Part,
    Prose,
    Question,
    at_line,
)
from pages.learn.tour.lesson_engine.mistakes import MISTAKES
from transformer_core.errors import Message

BLOCKS = ("figure", "question", "check", "link")
_KEY = re.compile(r"([A-Za-z][A-Za-z_ ]*?)\s*:(?:\s+(.*))?$")
_BEGINNING = re.compile(r"\[([A-Za-z]+)\]\s*$")
MOST_LETTERS = 60_000  # of a lesson
MOST_PADDING = 16  # tokens
_TOLD = re.compile(r"\{\{(.+?)\}\}", re.DOTALL)
_DECIMALS = re.compile(r"\s*:\s*(\d)\s*$")
_HEAD: Mapping[str, Read] = {
    **dict.fromkeys(("title", "group", "section", "model", "text", "target", "other"), str),
    **{"attention": attention, "layer": whole(0, 999), "head": whole(0, 999)},
    **{"padding": whole(0, MOST_PADDING), "mistake": one_of(*MISTAKES)},
}
_QUESTION: Mapping[str, Read] = {
    **dict.fromkeys(("ask", "choice", "right", "right when", "answer", "hint"), str),
    **{"within": number(0, 1e6), "tokens": one_of("source", "target")},
}


@dataclass(frozen=True, kw_only=True)
class KeyValue:
    """A key and its value."""

    key: str
    value: str
    line: int


@dataclass(frozen=True, kw_only=True)
class LessonBlock:
    """Some entries, or a stretch of prose."""

    kind: str  # "head", "prose", or one of `BLOCKS`
    entries: tuple[KeyValue, ...]
    prose: str
    line: int


def read_lesson(text: str, *, name: str, file: str, pages: Mapping[str, Collection[str]], group: str = "") -> Lesson:
    """Read a lesson.

    Args:
        text: of its file.
        name: in addresses.
        file: relative to the project's root.
        pages: that a link can open, each with the fields that it takes.
        group: the heading of a lesson that names none.

    Raises:
        LessonError: the first error, with file and line.
    """
    readers: Mapping[str, Callable[[LessonBlock], Part]] = {
        "prose": _prose,
        "figure": _figure,
        "question": _question,
        "check": _check,
        "link": lambda block: _link(block, pages),
    }
    try:
        if len(text) > MOST_LETTERS:
            raise LessonError("a lesson may have at most {n} characters", n=localized(MOST_LETTERS, ","), line=1)
        head, *rest = _divide(text)
        known = {"group": group} | _values(head, _HEAD)
        if not known.get("title"):
            raise LessonError("a lesson must start with its title: title: …", line=head.line)
        return Lesson(name=name, file=file, **known, parts=tuple(readers[block.kind](block) for block in rest))
    except LessonError as error:
        raise error.of(file) from error.__cause__


def _values(block: LessonBlock, reads: Mapping[str, Read], *, repeated: Collection[str] = ()) -> dict[str, Any]:
    """Return the values of a block by their keys; of a repeated key the last one.

    Raises:
        LessonError: a key is unknown or appears twice, or a value cannot be read.
    """
    fields: dict[str, Any] = {}
    for entry in block.entries:
        if entry.key not in reads:
            raise LessonError(
                "unknown key “{key}”; known keys are {there}", key=entry.key, there=", ".join(reads), line=entry.line
            )
        if entry.key in fields and entry.key not in repeated:
            raise LessonError("“{key}” appears twice", key=entry.key, line=entry.line)
        if not entry.value:
            continue
        fields[entry.key] = _value(entry, reads[entry.key])
    return fields


def _value(entry: KeyValue, read: Read) -> Any:
    try:
        return read(entry.value)
    except ExpressionError as error:
        raise LessonError(Message.joined(": ", [entry.key, error]), line=entry.line) from error


def _named(block: LessonBlock, key: str, there: Collection[str]) -> str:
    """Return the value of a key that decides which other keys the block has.

    Raises:
        LessonError: the value is not one of the known ones.
    """
    entry = next((entry for entry in block.entries if entry.key == key), KeyValue(key=key, value="", line=block.line))
    return str(_value(entry, one_of(*there)))


def _asked(source: str, line: int) -> Asked:
    with at_line(line):
        return Asked(source=source, expression=parse(source), line=line)


def _prose(block: LessonBlock) -> Prose:
    pieces: list[str | Asked] = []
    end = 0
    for match in _TOLD.finditer(block.prose):
        line = block.line + block.prose.count("\n", 0, match.start())
        decimals = _DECIMALS.search(match[1])
        source = " ".join(_DECIMALS.sub("", match[1]).split("\n"))
        pieces.append(block.prose[end : match.start()])
        pieces.append(replace(_asked(source, line), decimals=int(decimals[1]) if decimals else None))
        end = match.end()
    pieces.append(block.prose[end:])
    return Prose(pieces=tuple(piece for piece in pieces if piece), line=block.line)


def _figure(block: LessonBlock) -> FigureSpec:
    kind = _named(block, "kind", KINDS)
    known = _values(block, {"kind": str, **KINDS[kind].parameters})
    if (name := KINDS[kind].needs) and name not in known:
        raise LessonError("the figure {kind} needs {name}: …", kind=kind, name=name, line=block.line)
    lines = {entry.key: entry.line for entry in block.entries}
    return FigureSpec(kind=known.pop("kind"), parameters=known, lines=lines, line=block.line)


def _question(block: LessonBlock) -> Question:
    known = _values(block, _QUESTION, repeated=("choice", "right", "right when"))
    if not known.get("ask"):
        raise LessonError("a question needs a text: ask: …", line=block.line)
    choices = _choices(block.entries)
    answer = next((_asked(entry.value, entry.line) for entry in block.entries if entry.key == "answer"), None)
    if not choices and answer is None:
        raise LessonError("a question needs choices, or an expression for its answer", line=block.line)
    if choices and answer is None and all(choice.is_right is None for choice in choices):
        raise LessonError("no choice is marked as correct: write right: instead of choice:", line=block.line)
    others = {key: known[key] for key in ("ask", "within", "tokens", "hint") if key in known}
    return Question(**others, choices=choices, answer=answer, line=block.line)


def _choices(entries: Collection[KeyValue]) -> tuple[Choice, ...]:
    choices: list[Choice] = []
    for entry in entries:
        if entry.key in ("choice", "right"):
            choices.append(Choice(text=entry.value, is_right=entry.key == "right" or None, line=entry.line))
        elif entry.key == "right when":
            if not choices or choices[-1].is_right is not None:
                raise LessonError("“right when” must follow its choice", line=entry.line)
            choices[-1] = replace(choices[-1], is_right=_asked(entry.value, entry.line))
    return tuple(choices)


def _check(block: LessonBlock) -> Check:
    known = _values(block, {"claim": str, "holds": str}, repeated=("holds",))
    holds = tuple(_asked(entry.value, entry.line) for entry in block.entries if entry.key == "holds")
    if not holds:
        raise LessonError("a check needs a condition: holds: …", line=block.line)
    return Check(claim=known.get("claim", ""), holds=holds, line=block.line)


def _link(block: LessonBlock, pages: Mapping[str, Collection[str]]) -> Link:
    page = _named(block, "page", pages)
    fields = _values(block, dict.fromkeys(("page", "label", *pages[page]), str))
    if not fields.get("label"):
        raise LessonError("a link needs a label: label: …", line=block.line)
    return Link(page=fields.pop("page"), label=fields.pop("label"), fields=fields, line=block.line)


def _divide(text: str) -> list[LessonBlock]:
    """Return the blocks of a lesson, the head first.

    Raises:
        LessonError: a line is not allowed where it is.
    """
    lines = text.removeprefix("\ufeff").splitlines()
    first = next((i for i, line in enumerate(lines) if line.strip()), len(lines))
    end = _end(lines, first)
    blocks, prose_from = [LessonBlock(kind="head", entries=_entries(lines, first, end), prose="", line=first + 1)], end
    for at in range(end, len(lines)):
        beginning = _BEGINNING.match(lines[at])
        if beginning is None:
            continue
        kind = beginning[1].lower()
        if kind not in BLOCKS:
            there = ", ".join(f"[{name}]" for name in BLOCKS)
            raise LessonError("there is no block [{name}], only {there}", name=beginning[1], there=there, line=at + 1)
        blocks += _stretch(lines, prose_from, at)
        prose_from = _end(lines, at + 1)
        blocks.append(LessonBlock(kind=kind, entries=_entries(lines, at + 1, prose_from), prose="", line=at + 1))
    return blocks + _stretch(lines, prose_from, len(lines))


def _end(lines: Sequence[str], first: int) -> int:
    """Return the index where the block from line `first` ends: an empty line, another block, or the end of the file."""
    return next((i for i in range(first, len(lines)) if not lines[i].strip() or _BEGINNING.match(lines[i])), len(lines))


def _entries(lines: Sequence[str], first: int, end: int) -> tuple[KeyValue, ...]:
    entries: list[KeyValue] = []
    for i in range(first, end):
        line = lines[i]
        if line[0] in " \t" and entries:
            entries[-1] = replace(entries[-1], value=f"{entries[-1].value} {line.strip()}".strip())
            continue
        match = _KEY.match(line.strip())
        if match is None:
            got = line.strip()[:40]
            raise LessonError("expected a key with a colon, such as title: …; got “{text}”", text=got, line=i + 1)
        entries.append(KeyValue(key=match[1].lower().replace("_", " "), value=(match[2] or "").strip(), line=i + 1))
    return tuple(entries)


def _stretch(lines: Sequence[str], first: int, end: int) -> list[LessonBlock]:
    while first < end and not lines[first].strip():
        first += 1
    text = "\n".join(lines[first:end]).rstrip()
    return [LessonBlock(kind="prose", entries=(), prose=text, line=first + 1)] if text else []
