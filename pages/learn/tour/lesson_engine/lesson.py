"""What a lesson is made of, as it was read from its file."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from transformer_core.errors import Message


@dataclass(frozen=True, kw_only=True)
class Asked:
    """An expression in a lesson, as it is written and as it was read."""

    source: str
    expression: ast.expr
    line: int  # of the file, from 1


@dataclass(frozen=True, kw_only=True)
class Told:
    """A number or a word that is put into the prose."""

    asked: Asked
    decimals: int | None  # of a number; None: four digits that count


@dataclass(frozen=True, kw_only=True)
class Prose:
    """Paragraphs in Markdown: texts, and between them what is put in."""

    pieces: tuple[str | Told, ...]
    line: int


@dataclass(frozen=True, kw_only=True)
class FigureSpec:
    """A live figure by its name, with its parameters."""

    kind: str
    parameters: Mapping[str, str]
    lines: Mapping[str, int]  # of each parameter
    line: int


@dataclass(frozen=True, kw_only=True)
class Choice:
    """An answer that can be chosen."""

    text: str
    is_right: "Asked | bool | None"  # by the model's numbers, as written, or as the question's answer says
    line: int


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is to be predicted before the rest is shown."""

    ask: str
    choices: tuple[Choice, ...]  # (): a number, or a token
    answer: Asked | None
    within: float  # how far a number may be from the right one
    tokens: str  # "source" or "target": the answer is one of these tokens; "": it is not
    hint: str
    line: int


@dataclass(frozen=True, kw_only=True)
class Check:
    """What must hold for the model's numbers."""

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
    """A chapter: what is looked at, and the parts in their order. What is behind a question waits for the answer."""

    name: str  # in addresses
    file: str  # as one writes it at the project's root
    title: str
    group: str  # the heading in the contents; "": none
    section: str  # of the paper
    model: str
    text: str
    target: str | None
    other: str  # another text, to compare with; "": none
    attention: str
    layer: int | None
    head: int | None
    padding: int  # tokens that follow the source, as in a batch with a longer one
    mistake: str  # that the model is shown with; "": none
    parts: tuple[Part, ...]

    @property
    def questions(self) -> tuple[Question, ...]:
        """All questions, in their order."""
        return tuple(part for part in self.parts if isinstance(part, Question))

    def parts_up_to(self, n_answered: int) -> tuple[Part, ...]:
        """Return what is seen once so many questions were answered: up to the next one."""
        seen: list[Part] = []
        for part in self.parts:
            seen.append(part)
            if isinstance(part, Question):
                n_answered -= 1
                if n_answered < 0:
                    break
        return tuple(seen)


@dataclass(frozen=True, kw_only=True)
class BrokenLesson:
    """A file that is no lesson, and why."""

    name: str
    file: str
    title: str  # what could be read of it, or the file's name
    group: str
    why: Message  # one sentence, with file and line
