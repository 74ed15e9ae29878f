"""From the text of a file to a lesson; what is wrong is told with its line."""

import re
from collections.abc import Callable, Collection, Mapping

from headlight.analysis.trace.attentions import ATTENTIONS
from pages.learn.tour.lesson_engine.blocks import Block, Entry, divide
from pages.learn.tour.lesson_engine.catalogue import KINDS
from pages.learn.tour.lesson_engine.errors import LessonError, at_line
from pages.learn.tour.lesson_engine.expressions import parse
from pages.learn.tour.lesson_engine.lesson import (
    Asked,
    Check,
    Choice,
    FigureSpec,
    Lesson,
    Link,
    Part,
    Prose,
    Question,
    Told,
)
from pages.learn.tour.lesson_engine.mistakes import MISTAKES

MOST_LETTERS = 60_000  # of a lesson
_TOLD = re.compile(r"\{\{(.+?)\}\}", re.DOTALL)
_DECIMALS = re.compile(r"\s*:\s*(\d)\s*$")
MOST_PADDING = 16  # tokens
_HEAD = (
    *("title", "group", "section", "model", "text", "target", "other"),
    *("attention", "layer", "head", "padding", "mistake"),
)
_QUESTION = ("ask", "choice", "right", "right when", "answer", "within", "tokens", "hint")


def read_lesson(text: str, *, name: str, file: str, pages: Mapping[str, Collection[str]]) -> Lesson:
    """Read a lesson.

    Args:
        text: of its file.
        name: in addresses.
        file: as one writes it at the project's root.
        pages: that a link can open, each with the fields that it takes.

    Raises:
        LessonError: what is wrong, with file and line.
    """
    try:
        return _read(text, name=name, file=file, pages=pages)
    except LessonError as error:
        raise error.of(file) from error.__cause__


def _read(text: str, *, name: str, file: str, pages: Mapping[str, Collection[str]]) -> Lesson:
    if len(text) > MOST_LETTERS:
        raise LessonError("a lesson may have at most {n} characters", n=f"{MOST_LETTERS:,}", line=1)
    head, *rest = divide(text)
    known = _known(head, _HEAD)
    if not known.get("title"):
        raise LessonError("a lesson must start with its title: title: …", line=head.line)
    mistake = known.get("mistake", "")
    if mistake and mistake not in MISTAKES:
        raise LessonError(
            "there is no mistake “{name}”, only {there}",
            name=mistake,
            there=", ".join(MISTAKES),
            line=_line(head, "mistake"),
        )
    attention = known.get("attention", "")
    if attention and attention not in ATTENTIONS:
        raise LessonError(
            "there is no attention “{name}”, only {there}",
            name=attention,
            there=", ".join(ATTENTIONS),
            line=_line(head, "attention"),
        )
    readers: Mapping[str, Callable[[Block], Part]] = {
        "prose": _prose,
        "figure": _figure,
        "question": _question,
        "check": _check,
        "link": lambda block: _link(block, pages),
    }
    return Lesson(
        name=name,
        file=file,
        title=known["title"],
        group=known.get("group", ""),
        section=known.get("section", ""),
        model=known.get("model", ""),
        text=known.get("text", ""),
        target=known.get("target"),
        other=known.get("other", ""),
        attention=attention,
        layer=_index(head, "layer"),
        head=_index(head, "head"),
        padding=_padding(head),
        mistake=mistake,
        parts=tuple(readers[block.kind](block) for block in rest),
    )


def _known(block: Block, keys: Collection[str], *, repeated: Collection[str] = ()) -> dict[str, str]:
    """Return the values by their keys.

    Raises:
        LessonError: a key that is not known, or that stands there twice.
    """
    found: dict[str, str] = {}
    for entry in block.entries:
        if entry.key not in keys:
            raise LessonError(
                "unknown key “{key}”; known keys are {there}", key=entry.key, there=", ".join(keys), line=entry.line
            )
        if entry.key in found and entry.key not in repeated:
            raise LessonError("“{key}” appears twice", key=entry.key, line=entry.line)
        found[entry.key] = entry.value
    return found


def _line(block: Block, key: str) -> int:
    return next((entry.line for entry in block.entries if entry.key == key), block.line)


def _index(block: Block, key: str) -> int | None:
    value = next((entry.value for entry in block.entries if entry.key == key), None)
    if value is None:
        return None
    if not re.fullmatch(r"\d{1,3}", value):
        raise LessonError("{key} must be a whole number of at least 0", key=key, line=_line(block, key))
    return int(value)


def _padding(block: Block) -> int:
    n = _index(block, "padding") or 0
    if n > MOST_PADDING:
        raise LessonError("padding may have at most {n} tokens", n=MOST_PADDING, line=_line(block, "padding"))
    return n


def _asked(source: str, line: int) -> Asked:
    """Read an expression.

    Raises:
        LessonError: it is not written as one.
    """
    with at_line(line):
        return Asked(source=source, expression=parse(source), line=line)


def _prose(block: Block) -> Prose:
    pieces: list[str | Told] = []
    end = 0
    for match in _TOLD.finditer(block.prose):
        line = block.line + block.prose.count("\n", 0, match.start())
        decimals = _DECIMALS.search(match[1])
        source = " ".join(_DECIMALS.sub("", match[1]).split("\n"))
        pieces.append(block.prose[end : match.start()])
        pieces.append(Told(asked=_asked(source, line), decimals=int(decimals[1]) if decimals else None))
        end = match.end()
    pieces.append(block.prose[end:])
    return Prose(pieces=tuple(piece for piece in pieces if piece), line=block.line)


def _figure(block: Block) -> FigureSpec:
    kind = next((entry.value for entry in block.entries if entry.key == "kind"), "")
    if kind not in KINDS:
        raise LessonError(
            "there is no figure “{kind}”, only {there}", kind=kind, there=", ".join(KINDS), line=_line(block, "kind")
        )
    known = _known(block, ("kind", *KINDS[kind].parameters))
    for entry in block.entries:
        if entry.key != "kind":
            with at_line(entry.line):
                KINDS[kind].parameters[entry.key].read(entry.value)
    lines = {entry.key: entry.line for entry in block.entries}
    return FigureSpec(
        kind=kind,
        parameters={key: value for key, value in known.items() if key != "kind"},
        lines=lines,
        line=block.line,
    )


def _question(block: Block) -> Question:
    known = _known(block, _QUESTION, repeated=("choice", "right", "right when"))
    if not known.get("ask"):
        raise LessonError("a question needs a text: ask: …", line=block.line)
    choices = _choices(block.entries)
    answer = _asked(known["answer"], _line(block, "answer")) if "answer" in known else None
    if not choices and answer is None:
        raise LessonError("a question needs choices, or an expression for its answer", line=block.line)
    if choices and answer is None and all(choice.is_right is None for choice in choices):
        raise LessonError("no choice is marked as correct: write right: instead of choice:", line=block.line)
    tokens = known.get("tokens", "")
    if tokens not in ("", "source", "target"):
        raise LessonError("tokens must be source or target", line=_line(block, "tokens"))
    return Question(
        ask=known["ask"],
        choices=choices,
        answer=answer,
        within=_within(block, known.get("within", "0.005")),
        tokens=tokens,
        hint=known.get("hint", ""),
        line=block.line,
    )


def _within(block: Block, value: str) -> float:
    if not re.fullmatch(r"\d+(\.\d+)?(e-?\d+)?", value):
        raise LessonError("within must be a number, such as 0.05", line=_line(block, "within"))
    return float(value)


def _choices(entries: Collection[Entry]) -> tuple[Choice, ...]:
    choices: list[Choice] = []
    for entry in entries:
        if entry.key in ("choice", "right"):
            choices.append(Choice(text=entry.value, is_right=entry.key == "right" or None, line=entry.line))
        elif entry.key == "right when":
            if not choices or choices[-1].is_right is not None:
                raise LessonError("“right when” must follow its choice", line=entry.line)
            last = choices.pop()
            choices.append(Choice(text=last.text, is_right=_asked(entry.value, entry.line), line=last.line))
    return tuple(choices)


def _check(block: Block) -> Check:
    known = _known(block, ("claim", "holds"), repeated=("holds",))
    holds = tuple(_asked(entry.value, entry.line) for entry in block.entries if entry.key == "holds")
    if not holds:
        raise LessonError("a check needs a condition: holds: …", line=block.line)
    return Check(claim=known.get("claim", ""), holds=holds, line=block.line)


def _link(block: Block, pages: Mapping[str, Collection[str]]) -> Link:
    page = next((entry.value for entry in block.entries if entry.key == "page"), "")
    if page not in pages:
        raise LessonError(
            "there is no page “{page}”, only {there}", page=page, there=", ".join(pages), line=_line(block, "page")
        )
    known = _known(block, ("page", "label", *pages[page]))
    if not known.get("label"):
        raise LessonError("a link needs a label: label: …", line=block.line)
    fields = {key: value for key, value in known.items() if key not in ("page", "label")}
    return Link(page=page, label=known["label"], fields=fields, line=block.line)
