"""What the parameters of figures can be, and how they are read."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headlight.analysis.trace.attentions import ATTENTIONS
from pages.learn.tour.lesson_engine.errors import ExpressionError
from pages.learn.tour.lesson_engine.expressions import parse


@dataclass(frozen=True)
class Parameter:
    """How a parameter is read; `read` raises ExpressionError with what would be right."""

    read: Callable[[str], Any]


def one_of(*words: str) -> Parameter:
    """Return a parameter that is one of a few words."""

    def read(text: str) -> str:
        if text not in words:
            raise ExpressionError("“{text}” is not one of {words}", text=text, words=", ".join(words))
        return text

    return Parameter(read)


def whole(low: int, high: int) -> Parameter:
    """Return a parameter that is a whole number within limits."""

    def read(text: str) -> int:
        if not re.fullmatch(r"\d{1,6}", text) or not low <= int(text) <= high:
            raise ExpressionError("“{text}” must be a whole number from {low} to {high}", text=text, low=low, high=high)
        return int(text)

    return Parameter(read)


def number(low: float, high: float) -> Parameter:
    """Return a parameter that is a number within limits."""

    def read(text: str) -> float:
        if not re.fullmatch(r"-?\d{1,7}(\.\d+)?", text) or not low <= float(text) <= high:
            raise ExpressionError(
                "“{text}” must be a number from {low} to {high}", text=text, low=f"{low:g}", high=f"{high:g}"
            )
        return float(text)

    return Parameter(read)


def _yes(text: str) -> bool:
    if text not in ("yes", "no"):
        raise ExpressionError("“{text}” must be yes or no", text=text)
    return text == "yes"


def _place(text: str) -> str | float:
    """Read a token's label, with or without quotation marks, or its place."""
    return float(text) if re.fullmatch(r"\d{1,4}", text) else text.strip('"')


def _expression(text: str) -> str:
    parse(text)
    return text


def _expressions(text: str) -> tuple[str, ...]:
    """Read expressions with semicolons between them."""
    sources = tuple(part.strip() for part in text.split(";") if part.strip())
    for source in sources:
        parse(source)
    return sources


YES = Parameter(_yes)
PLACE = Parameter(_place)
EXPRESSION = Parameter(_expression)
EXPRESSIONS = Parameter(_expressions)
WORDS = Parameter(lambda text: text[:200])
ATTENTION = one_of(*ATTENTIONS)
