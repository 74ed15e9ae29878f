"""Kinds of figures: their parameters and the readers of these, their sliders, and the functions that draw them.

A reader converts a string to a value, and raises ExpressionError if the string is invalid.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from headlight.analysis.trace.attentions import ATTENTIONS
from pages.learn.tour.lesson_engine.drawn import Drawn, FigureData
from pages.learn.tour.lesson_engine.expressions import parse
from pages.learn.tour.lesson_engine.lesson import ExpressionError, FigureSpec

Read = Callable[[str], Any]


def one_of(*words: str) -> Read:
    """Return the reader of one of a few words."""

    def read(text: str) -> str:
        if text not in words:
            raise ExpressionError("“{text}” is not one of {words}", text=text, words=", ".join(words))
        return text

    return read


def whole(low: int, high: int) -> Read:
    """Return the reader of a whole number within limits."""

    def read(text: str) -> int:
        if not re.fullmatch(r"\d{1,6}", text) or not low <= int(text) <= high:
            raise ExpressionError("“{text}” must be a whole number from {low} to {high}", text=text, low=low, high=high)
        return int(text)

    return read


def number(low: float, high: float) -> Read:
    """Return the reader of a number within limits."""

    def read(text: str) -> float:
        if not re.fullmatch(r"-?\d{1,7}(\.\d+)?(e-?\d{1,3})?", text) or not low <= float(text) <= high:
            raise ExpressionError(
                "“{text}” must be a number from {low} to {high}", text=text, low=f"{low:g}", high=f"{high:g}"
            )
        return float(text)

    return read


def yes(text: str) -> bool:
    """Read yes or no."""
    if text not in ("yes", "no"):
        raise ExpressionError("“{text}” must be yes or no", text=text)
    return text == "yes"


def place(text: str) -> str | float:
    """Read a token, with or without quotation marks, or its index."""
    return float(text) if re.fullmatch(r"\d{1,4}", text) else text.strip('"')


def expression(text: str) -> str:
    """Read an expression."""
    parse(text)
    return text


def expressions(text: str) -> tuple[str, ...]:
    """Read expressions separated by semicolons."""
    return tuple(expression(part.strip()) for part in text.split(";") if part.strip())


def words(text: str) -> str:
    """Read a title."""
    return text[:200]


attention = one_of(*ATTENTIONS)


Draw = Callable[[FigureData], Drawn]
Parameters = dict[str, Read]


@dataclass(frozen=True)
class Slider:
    """A number that a person moves beneath a figure."""

    name: str  # also the name of the parameter that sets its start
    label: str  # marked
    low: float
    high: float
    step: float
    start: float
    is_optional: bool = False  # shown only if the parameter is given


@dataclass(frozen=True)
class FigureKind:
    """A kind of figure."""

    name: str
    meaning: str  # marked, for authors of lessons
    parameters: Mapping[str, Read]
    sliders: tuple[Slider, ...]
    draw: Draw  # raises a LessonError where it cannot be drawn from this model and text
    needs: str = ""  # a parameter that must be given
    trains: bool = False  # it shows a training, which starts on request

    def sliders_of(self, spec: FigureSpec) -> tuple[Slider, ...]:
        """Return the sliders beneath a figure, with the starts that its parameters set."""
        given = spec.parameters
        most = {"written": given.get("tokens")}  # a search has no more steps than tokens
        return tuple(
            replace(slider, start=given.get(slider.name, slider.start), high=most.get(slider.name) or slider.high)
            for slider in self.sliders
            if slider.name in given or not slider.is_optional
        )


def figure(
    name: str, meaning: str, parameters: Parameters, *sliders: Slider, needs: str = "", trains: bool = False
) -> Callable[[Draw], FigureKind]:
    """Turn the decorated function, which draws the figure, into a kind of figure; see `FigureKind`."""
    return lambda draw: FigureKind(name, meaning, parameters, sliders, draw, needs, trains)


TITLE: Parameters = {"title": words}
OF_RUN: Parameters = TITLE | {"right": yes, "other": yes}
ROW: Parameters = {
    **{"attention": attention, "layer": whole(0, 200), "head": whole(0, 200)},
    **OF_RUN,
    **{"query": place, "writing": place},
}
POSITION: Parameters = OF_RUN | {"pos": place, "writing": place}
SMOOTHING: Parameters = {"smoothing": number(0, 0.9), "title": words}
