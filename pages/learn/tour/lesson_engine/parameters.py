"""How the parameters of figures and the keys of other blocks are read.

Each function returns the value of a text, and raises ExpressionError where the text is not one.
"""

import re
from collections.abc import Callable
from typing import Any

from headlight.analysis.trace.attentions import ATTENTIONS
from pages.learn.tour.lesson_engine.errors import ExpressionError
from pages.learn.tour.lesson_engine.expressions import parse

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
