"""The result of drawing a lesson's figure: a plotly figure, tokens in a row, or a table."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headlight.figures import Figure
from pages.learn.tour.lesson_engine.evidence import Evidence
from pages.learn.tour.lesson_engine.expressions import RUNS
from pages.learn.tour.lesson_engine.lesson import ExpressionError, FigureSpec, Lesson, LessonError
from pages.learn.tour.lesson_engine.run import LessonRun
from pages.learn.tour.lesson_engine.value import Values, in_words
from transformer_core.errors import HeadlightError


@dataclass(frozen=True, kw_only=True)
class Plot:
    """A plotly figure, and its numbers as a table."""

    figure: Figure
    csv: str

    @classmethod
    def of(cls, figure: Figure, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> "Plot":
        """Return a figure with its numbers in rows."""
        return cls(figure=figure, csv=csv_of(columns, rows))

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the columns of the table by name, numbers or text."""
        names, *rows = csv.reader(io.StringIO(self.csv))
        return {name: _array([row[place] for row in rows]) for place, name in enumerate(names)}


@dataclass(frozen=True, kw_only=True)
class Strip:
    """Tokens in a row."""

    title: str
    labels: tuple[str, ...]
    notes: tuple[str, ...]  # small, beneath each; () for none
    weights: tuple[float, ...]  # in [0, 1], how deep each ground is; () for none


@dataclass(frozen=True, kw_only=True)
class LessonTable:
    """Rows of words and numbers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    marked: int | None = None  # a row that stands out
    codes: tuple[str, ...] = ()  # the name of each row's first cell in code; () for none


Drawn = Plot | Strip | LessonTable


@dataclass(frozen=True, kw_only=True)
class FigureData:
    """The data that a figure is drawn from."""

    lesson: Lesson
    spec: FigureSpec
    evidence: Evidence
    moved: Mapping[str, float] = field(default_factory=dict)  # the values of the sliders
    is_trained: bool = True  # whether a person has asked for the training that the figure shows

    @property
    def given(self) -> Mapping[str, Any]:
        """The parameters of the figure."""
        return self.spec.parameters

    def titled(self, usual: str) -> str:
        """Return the title that the lesson gives the figure, or else the default."""
        return str(self.given.get("title") or usual)

    def parameter(self, name: str) -> Any:
        """Return a parameter of the figure, else of the lesson; default: 0 for layer and head, else None."""
        if name in self.given:
            return self.given[name]
        result = getattr(self.lesson, name, None)
        return 0 if result is None and name in ("layer", "head") else result

    @property
    def attention(self) -> str:
        """The attention of the figure, or else of the lesson, or else the model's last."""
        result: str = self.parameter("attention") or [*self.run.sides][-1]
        return result

    def ask(self, source: str, *, parameter: str = "") -> Values:
        """Evaluate an expression to numbers of the model.

        Args:
            source: an expression.
            parameter: the parameter that holds it, so that an error names its line.

        Raises:
            LessonError: the expression asks for a quantity that does not exist, or is not numeric.
        """
        with self.at(parameter):
            result = self.evidence.ask(source)
            if not isinstance(result, Values):
                raise ExpressionError(
                    "a figure needs numbers, but “{source}” is {what}", source=source, what=in_words(result)
                )
            return result

    def quantity(self, name: str, *parts: str | float, parameter: str = "layer") -> Values:
        """Return a quantity of the run that is drawn.

        Raises:
            LessonError: the model does not have it; the error names the line of `parameter`.
        """
        with self.at(parameter):
            result = self.evidence.quantity(name, parts, self.of)
            assert isinstance(result, Values), "figures draw quantities that are numbers"
            return result

    def of_head(self, name: str) -> Values:
        """Return a quantity of the figure's head.

        Raises:
            LessonError: the model has no such head.
        """
        return self.quantity(name, self.attention, self.parameter("layer"), self.parameter("head"))

    def hidden(self, values: Values) -> np.ndarray:
        """Return which numbers are hidden until the question that asks for them is answered."""
        return np.isnan(values.array) & self.evidence.hides

    @contextmanager
    def at(self, parameter: str) -> Iterator[None]:
        """Convert any HeadlightError to a LessonError with the line of a parameter, or else of the figure."""
        try:
            yield
        except LessonError:
            raise
        except HeadlightError as error:
            raise LessonError(error.message, line=self.spec.lines.get(parameter, self.spec.line)) from error

    @property
    def of(self) -> str:
        """Which run is drawn: "right" is the model without its mistake, "other" the lesson's other text, "" its own."""
        return next((which for which in RUNS if self.given.get(which)), "")

    @property
    def run(self) -> LessonRun:
        """The run that is drawn."""
        return self.evidence.run_of(self.of)

    @property
    def query(self) -> int | None:
        """The index of the query that the figure selects; None if it selects none.

        Raises:
            LessonError: there is no such token.
        """
        for name in ("query", "writing"):
            if name in self.given:
                axis = self.of_head("pattern").axes[0]
                with self.at(name):
                    return axis.place(name, self.given[name])
        return None


def _array(column: list[str]) -> np.ndarray:
    try:
        return np.array(column, dtype=np.float64)
    except ValueError:
        return np.array(column, dtype=np.str_)


def csv_of(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table as CSV."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return written.getvalue()
