"""What a question asks for: the numbers that its answer is read from, which figures hide until it is answered."""

import ast
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from pages.learn.tour.lesson_engine.expressions import Parts, quantity_of
from pages.learn.tour.lesson_engine.lesson import Asked, ExpressionError, Question
from pages.learn.tour.lesson_engine.value import Values

_NOT_READ = ("size", "norm", "softmax", "entropy", "dot", "variance")  # functions whose value nobody reads off a figure


@dataclass(frozen=True, kw_only=True)
class AskedNumbers:
    """The numbers of one quantity that an answer is read from."""

    name: str
    parts: Parts
    run: str
    places: Mapping[str, str | float]  # by axis; along other axes, all positions

    def hide(self, values: Values, name: str, parts: Parts, run: str) -> Values:
        """Return the values of a quantity, NaN at these numbers."""
        n = min(len(parts), len(self.parts))
        if not values.axes or (name, run) != (self.name, self.run) or parts[:n] != self.parts[:n]:
            return values
        places = {**dict(zip(("head",), self.parts[2:], strict=False)), **self.places}
        index: list[slice | int] = [slice(None)] * len(values.axes)
        with suppress(ExpressionError):  # an axis or a place that is not there; the question says so
            for place, axis in enumerate(values.axes):
                for name_of_axis in (axis.name, *axis.names):
                    if name_of_axis in places:
                        index[place] = axis.place(name_of_axis, places[name_of_axis])
        array = values.array.astype(np.float64)
        array[tuple(index)] = np.nan
        return Values(array=array, axes=values.axes)


def asked_by(question: Question) -> list[AskedNumbers]:
    """Return the numbers that the answer to a question is read from."""
    answers = (question.answer, *(choice.is_right for choice in question.choices))
    results: list[AskedNumbers] = []
    with suppress(ExpressionError):  # the question says what is wrong with its answer
        for answer in answers:
            if isinstance(answer, Asked):
                results += _read(answer.expression)
    return results


def _read(node: ast.AST) -> Iterator[AskedNumbers]:
    match node:
        case ast.Call(ast.Name(function)) if function in _NOT_READ:
            return
        case ast.Call(ast.Attribute(of, "at"), _, at) if quantity := quantity_of(of):
            places: dict[str, str | float] = {}
            for one in at:
                match one:
                    case ast.keyword(str() as axis, ast.Constant(str() | int() | float() as place)):
                        places[axis] = place
            yield AskedNumbers(name=quantity[0], parts=quantity[1], run=quantity[2], places=places)
        case _ if quantity := quantity_of(node):
            yield AskedNumbers(name=quantity[0], parts=quantity[1], run=quantity[2], places={})
        case _:
            for part in ast.iter_child_nodes(node):
                yield from _read(part)
