"""What is wrong with a lesson, and in which line."""

from transformer_core.errors import HeadlightError
from transformer_core.language import say


class LessonError(HeadlightError):
    """A lesson that cannot be read, or that says what the model's numbers do not; `line` counts from 1."""

    def __init__(self, what: str, *, line: int, file: str = "") -> None:
        """Say what is wrong, where.

        Args:
            what: one sentence without its full stop, in the reader's language.
            line: of the file, from 1.
            file: as one writes it at the project's root; "" until it is known.
        """
        self.what, self.line, self.file = what, line, file
        super().__init__(what)

    def __str__(self) -> str:
        """Return file, line and what is wrong."""
        return say("{file}, line {line}: {what}", file=self.file or say("this lesson"), line=self.line, what=self.what)


class ExpressionError(HeadlightError):
    """An expression that cannot be read, or asks for what the model has not; whoever reads a lesson adds where."""
