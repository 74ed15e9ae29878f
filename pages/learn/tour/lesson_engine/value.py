"""The values of expressions: arrays with named axes, strings, and truth values."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Shaped

from headlight.language import localized
from pages.learn.tour.lesson_engine.lesson import ExpressionError
from transformer_core.errors import Message

WRITING = "writing"  # an alias of the decoder's query axis, indexed by the token generated there


@dataclass(frozen=True, kw_only=True)
class Axis:
    """One axis of an array: its name in the field's vocabulary, and labels for its positions."""

    name: str  # such as "query", "key", "d_head"
    size: int
    labels: tuple[str, ...] = ()  # of the positions; () if they only have indices
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # other names of the axis, with their labels

    @property
    def shown(self) -> tuple[str, ...]:
        """The labels of the places, or else their indices."""
        return self.labels or tuple(map(str, range(self.size)))

    def place(self, name: str, where: "str | float") -> int:
        """Return the index of a position on the axis.

        Args:
            name: of the axis, or one of its other names.
            where: a number from 0, or a label.

        Raises:
            ExpressionError: there is no such place, or several have this label.
        """
        if isinstance(where, str):
            labels = self.labels if name == self.name else self.names[name]
            results = [place for place, label in enumerate(labels) if label == where]
            if len(results) == 1:
                return results[0]
            if results:
                places = ", ".join(map(str, results))
                raise ExpressionError(
                    "“{label}” appears {n} times; use its position instead: {places}",
                    label=where,
                    n=len(results),
                    places=places,
                )
            there = ", ".join(f"“{label}”" for label in labels[:30]) or Message("indices")
            raise ExpressionError("there is no {axis} “{label}”, only {there}", axis=name, label=where, there=there)
        place = int(where)
        if place != where or not 0 <= place < self.size:
            raise ExpressionError(
                "there is no {axis} {place}, only 0 to {last}", axis=name, place=f"{where:g}", last=self.size - 1
            )
        return place


@dataclass(frozen=True, kw_only=True, eq=False)
class Values:
    """An array whose axes have names; a single number has none."""

    array: Shaped[np.ndarray, "..."]
    axes: tuple[Axis, ...] = ()

    def __post_init__(self) -> None:
        """Check that the axes are those of the array."""
        assert self.array.shape == tuple(axis.size for axis in self.axes), (self.array.shape, self.axes)

    @property
    def number(self) -> float:
        """The value, if it is a single number.

        Raises:
            ExpressionError: there are several.
        """
        if self.axes:
            raise ExpressionError(
                "expected a single number, got {shape}; select one with .at(…), or use sum, mean or max",
                shape=self.in_words(),
            )
        return float(self.array)

    def in_words(self) -> str:
        """Return the shape, such as "query 7 x key 9"."""
        return " × ".join(f"{axis.name} {axis.size}" for axis in self.axes)

    def axis(self, name: str) -> int:
        """Return the index of the axis of this name.

        Raises:
            ExpressionError: there is no such axis.
        """
        for place, axis in enumerate(self.axes):
            if name == axis.name or name in axis.names:
                return place
        there = ", ".join(axis.name for axis in self.axes) or Message("none")
        raise ExpressionError("there is no axis “{axis}” here, only {there}", axis=name, there=there)

    def at(self, name: str, where: "str | float") -> "Values":
        """Return the values at one position of an axis."""
        index = self.axis(name)
        place = self.axes[index].place(name, where)
        rest = (*self.axes[:index], *self.axes[index + 1 :])
        return Values(array=np.asarray(np.take(self.array, place, axis=index)), axes=rest)


Result = Values | str | bool
"""What an expression gives: numbers, a word, or yes or no."""


def number(value: float) -> Values:
    """Return a number as an array without axes."""
    return Values(array=np.array(value, dtype=np.float64))


def in_words(value: Result, decimals: int | None = None) -> Message:
    """Return the value of an expression in words.

    Args:
        value: the result.
        decimals: of a number; None: four significant digits.
    """
    if isinstance(value, bool):
        return Message("true") if value else Message("false")
    if isinstance(value, str):
        return Message(f"“{value}”")
    if value.axes:
        return Message("values of shape {shape}", shape=value.in_words())
    return Message(plain_number(float(value.array), decimals))


def plain_number(value: float, decimals: int | None = None) -> str:
    """Return a number for a sentence, with a true minus."""
    if math.isinf(value):
        text = "-∞" if value < 0 else "∞"
    elif decimals is not None:
        text = localized(value, f".{decimals}f")
    elif math.isfinite(value) and value == round(value) and abs(value) < 1e9:
        text = localized(value, ".0f")
    else:
        text = localized(value, ".4g")
    return text.replace("-", "\u2212") if "e" not in text else text
