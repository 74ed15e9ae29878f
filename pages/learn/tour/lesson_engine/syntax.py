"""What an expression of the lessons' language is made of, once it was read."""

from collections.abc import Iterator
from dataclasses import dataclass

COMPARISONS = ("==", "!=", "<=", ">=", "<", ">")


@dataclass(frozen=True)
class Number:
    """A number as it is written."""

    value: float


@dataclass(frozen=True)
class Text:
    """A word in quotation marks."""

    value: str


@dataclass(frozen=True)
class Quantity:
    """Something that the model has, such as pattern[cross, 1, 3]."""

    name: str
    parts: tuple[str | float, ...]
    of: str = ""  # "right": of the model without its mistake; "other": of the lesson's other text


@dataclass(frozen=True)
class At:
    """What is at one place of an axis."""

    of: "Expression"
    axis: str
    place: "str | float"


@dataclass(frozen=True)
class Call:
    """A function of numbers; along an axis, where one is named."""

    name: str
    given: "tuple[Expression, ...]"
    over: str = ""


@dataclass(frozen=True)
class Joined:
    """Two parts with a sign between them."""

    sign: str
    left: "Expression"
    right: "Expression"
    within: "Expression | None" = None  # how far two sides may be apart that count as the same


@dataclass(frozen=True)
class Negated:
    """A part with a minus or a `not` before it."""

    sign: str
    of: "Expression"


Expression = Number | Text | Quantity | At | Call | Joined | Negated


def names_in(expression: Expression) -> Iterator[str]:
    """Yield the names of all quantities that an expression asks for."""
    match expression:
        case Quantity(name, _, _):
            yield name
        case At(of, _, _) | Negated(_, of):
            yield from names_in(of)
        case Call(_, given, _):
            for part in given:
                yield from names_in(part)
        case Joined(_, left, right, within):
            for side in (left, right, *([] if within is None else [within])):
                yield from names_in(side)
