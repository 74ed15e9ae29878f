"""The parts of a lesson as read from its file, and errors that name the line."""

import ast
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from transformer_core.errors import HeadlightError, Message


@dataclass(frozen=True, kw_only=True)
class Asked:
    """An expression in a lesson."""

    source: str
    expression: ast.expr
    line: int  # of the file, from 1
    decimals: int | None = None  # of a number in the prose; None: four significant digits


@dataclass(frozen=True, kw_only=True)
class Prose:
    """Paragraphs in Markdown, with values in them."""

    pieces: tuple[str | Asked, ...]
    line: int


@dataclass(frozen=True, kw_only=True)
class FigureSpec:
    """A live figure by its name, with its parameters."""

    kind: str
    parameters: Mapping[str, Any]
    lines: Mapping[str, int]  # of each parameter
    line: int


@dataclass(frozen=True, kw_only=True)
class Choice:
    """An answer that can be chosen."""

    text: str
    is_right: "Asked | bool | None"  # an expression, a fixed value, or None: the question's answer decides
    line: int


@dataclass(frozen=True, kw_only=True)
class Question:
    """A prediction that a reader makes before the rest is shown."""

    ask: str
    line: int
    choices: tuple[Choice, ...] = ()  # (): the answer is a number or a token
    answer: Asked | None = None
    within: float = 0.005  # tolerance of a number
    tokens: str = ""  # "source" or "target": the answer is one of these tokens
    hint: str = ""


@dataclass(frozen=True, kw_only=True)
class Check:
    """Conditions that must hold for the model's numbers."""

    claim: str  # in words; "": the expressions alone
    holds: tuple[Asked, ...]
    line: int


@dataclass(frozen=True, kw_only=True)
class Link:
    """A page to open in a state."""

    page: str
    label: str
    fields: Mapping[str, str]
    line: int


Part = Prose | FigureSpec | Question | Check | Link


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """A chapter: model, text and head, and the parts in their order. Parts after a question wait for its answer."""

    name: str  # in addresses
    file: str  # relative to the project's root
    title: str
    group: str = ""  # the heading in the contents
    section: str = ""  # of the paper
    model: str = ""
    text: str = ""
    target: str | None = None
    other: str = ""  # another text, to compare with
    attention: str = ""
    layer: int | None = None
    head: int | None = None
    padding: int = 0  # tokens after the source, as in a batch with a longer one
    mistake: str = ""  # the mistake in the model that is shown
    parts: tuple[Part, ...] = ()

    @property
    def questions(self) -> tuple[Question, ...]:
        """All questions, in their order."""
        return tuple(part for part in self.parts if isinstance(part, Question))

    def parts_up_to(self, n_answered: int) -> tuple[Part, ...]:
        """Return the parts that are shown after a number of answers: up to and including the next question."""
        ends = [place for place, part in enumerate(self.parts, start=1) if isinstance(part, Question)]
        return self.parts[: ends[n_answered]] if n_answered < len(ends) else self.parts


@dataclass(frozen=True, kw_only=True)
class BrokenLesson:
    """A file that is not a valid lesson."""

    name: str
    file: str
    title: str  # as far as it can be read, or the file's name
    group: str
    why: Message  # one sentence, with file and line


class LessonError(HeadlightError):
    """A lesson that cannot be read, or whose claims contradict the model's numbers.

    Args:
        template: one sentence without its full stop.
        line: of the file, from 1.
        file: relative to the project's root; "" until it is known.
        values: as of a `Message`.
    """

    def __init__(self, template: str | Message, /, *, line: int, file: str = "", **values: Any) -> None:
        self.what, self.line = Message(template, **values), line
        super().__init__(
            Message("{file}, line {line}: {what}"), file=file or Message("this lesson"), line=line, what=self.what
        )

    def of(self, file: str) -> "LessonError":
        """Return this error with its file filled in."""
        return LessonError(self.what, line=self.line, file=file)


class ExpressionError(HeadlightError):
    """An expression that cannot be read, or asks for what the model lacks; the lesson's reader adds the line."""


@contextmanager
def at_line(line: int) -> Iterator[None]:
    """Convert an ExpressionError to a LessonError with this line of the file."""
    try:
        yield
    except ExpressionError as error:
        raise LessonError(error.message, line=line) from error
