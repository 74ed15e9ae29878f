"""What is wrong with a lesson, and in which line."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from transformer_core.errors import HeadlightError, Message


class LessonError(HeadlightError):
    """A lesson that cannot be read, or that says what the model's numbers do not.

    Args:
        template: one sentence without its full stop.
        line: of the file, from 1.
        file: as one writes it at the project's root; "" until it is known.
        values: as of a `Message`.
    """

    def __init__(self, template: str | Message, /, *, line: int, file: str = "", **values: Any) -> None:
        self.what, self.line = Message(template, **values), line
        super().__init__(
            Message("{file}, line {line}: {what}"), file=file or Message("this lesson"), line=line, what=self.what
        )

    def of(self, file: str) -> "LessonError":
        """Return the same of a file that is known now."""
        return LessonError(self.what, line=self.line, file=file)


class ExpressionError(HeadlightError):
    """An expression that cannot be read, or asks for what the model has not; the reader of the lesson adds where."""


@contextmanager
def at_line(line: int) -> Iterator[None]:
    """Raise a LessonError with this line of the file in place of an ExpressionError."""
    try:
        yield
    except ExpressionError as error:
        raise LessonError(error.message, line=line) from error
