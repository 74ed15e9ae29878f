"""The expressions by which lessons compute numbers, in Python's syntax.

>>> argmax(pattern[cross, 1, 3].at(writing="il")) == "animal"
>>> isclose(sum(pattern[encoder, 0, 0], over=key), 1, within=1e-5)
>>> entropy(softmax(scores[decoder, 0, 1].at(query=4))) < 1 and n_heads == 4

`right.pattern[…]` is of the model without the lesson's mistake, `other.pattern[…]` of the lesson's other text.
"""

import ast
import re
import sys
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from headlight.expressions import Evaluator, Grammar, excerpt
from pages.learn.tour.lesson_engine.functions import call
from pages.learn.tour.lesson_engine.lesson import ExpressionError
from pages.learn.tour.lesson_engine.value import Axis, Result, Values, in_words, number

Parts = tuple[str | float, ...]
GetQuantity = Callable[[str, Parts, str], Result]
"""Returns a quantity by its name, the parts in its brackets, and the run: "right", "other", or "" for the lesson's."""

RUNS = ("right", "other")
GRAMMAR = Grammar(
    error=ExpressionError,
    nodes=(
        *(ast.Constant, ast.Name, ast.Load, ast.Attribute, ast.Subscript, ast.Tuple, ast.Call, ast.keyword),
        *(ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.UnaryOp, ast.USub, ast.UAdd, ast.Not),
        *(ast.BoolOp, ast.And, ast.Or, ast.Compare, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE),
    ),
    most_nodes=400,
    most_depth=40,
)
_FORMER: Mapping[re.Pattern[str], str] = {  # the syntax of earlier versions, and the new one
    re.compile(r"""\bat (\w+) ("[^"]*"|\d+)"""): ".at({0}={1})",
    re.compile(r"\bover (\w+)"): "over={0}",
    re.compile(r"\bwithin ([\d.e-]+)"): "isclose(a, b, within={0})",
    re.compile(r"\b(right|other) (\w+)"): "{0}.{1}",
    re.compile(r"\^ ?(-?\w+)"): "** {0}",
}
_ARITHMETIC: Mapping[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    **{"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "**": np.power},
}
_COMPARISONS: Mapping[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    **{"==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal},
    **{">": np.greater, ">=": np.greater_equal},
}


def parse(source: str) -> ast.expr:
    """Return the tree of an expression.

    Raises:
        ExpressionError: it cannot be parsed; for the syntax of earlier versions, the message gives the new spelling.
    """
    try:
        return GRAMMAR.parse(source)
    except ExpressionError:
        for former, new in _FORMER.items():
            if match := former.search(source):
                raise ExpressionError(
                    "“{old}” is the syntax of earlier versions; write {new}",
                    old=match[0],
                    new=new.format(*match.groups()),
                ) from None
        raise


def evaluate(tree: ast.expr, quantity: GetQuantity) -> Result:
    """Return the value of an expression.

    Args:
        tree: returned by `parse`.
        quantity: returns the model's numbers.

    Raises:
        ExpressionError: it names something that does not exist, or combines values that do not fit together.
    """
    return _Evaluation(quantity).value(tree)


def quantity_of(node: ast.AST) -> tuple[str, Parts, str] | None:
    """Return the name, the parts and the run if a node is a quantity; None otherwise.

    Raises:
        ExpressionError: its brackets contain anything other than names, numbers and strings.
    """
    match node:
        case ast.Name(name):
            return name, (), ""
        case ast.Attribute(ast.Name(run), name) if run in RUNS:
            return name, (), run
        case ast.Subscript(ast.Name() | ast.Attribute() as of, parts):
            result = quantity_of(of)
            return result and (result[0], _parts(parts), result[2])
    return None


def quantities_in(node: ast.AST) -> Iterator[str]:
    """Yield the names of all quantities and functions in an expression."""
    if result := quantity_of(node):
        yield result[0]
    else:
        for part in ast.iter_child_nodes(node):
            yield from quantities_in(part)


def sides_of(tree: ast.expr) -> list[ast.expr]:
    """Return both sides of a comparison; [] for any other expression."""
    match tree:
        case ast.Compare(left, [_], [right]) | ast.Call(ast.Name("isclose"), [left, right]):
            return [left, right]
    return []


class _Evaluation(Evaluator[Result]):
    """One evaluation."""

    def __init__(self, quantity: GetQuantity) -> None:
        self._quantity = quantity

    def constant(self, value: object) -> Result:
        """Return a number, a word, or a truth value."""
        if isinstance(value, bool | str):
            return value
        if isinstance(value, int | float) and abs(value) <= sys.float_info.max:
            return number(value)
        raise ExpressionError("“{code}” cannot be used here", code=excerpt(repr(value)))

    def name(self, name: str) -> Result:
        """Return a quantity without brackets."""
        if name in RUNS:
            raise ExpressionError("“{word}” must be followed by a quantity of the model: {word}.pattern[…]", word=name)
        return self._quantity(name, (), "")

    def several(self, values: tuple[Result, ...]) -> Result:
        """Reject a tuple outside brackets."""
        raise ExpressionError("expected one value, not {n}; remove the comma", n=len(values))

    def unary(self, sign: str, value: Result) -> Result:
        """Return the negation of a truth value, or numbers with a sign."""
        if sign == "not":
            return not _truth(value, sign)
        values = _numbers(value, sign)
        return values if sign == "+" else Values(array=np.asarray(-_floats(values)), axes=values.axes)

    def binary(self, sign: str, left: Result, right: Result) -> Result:
        """Return an operation on numbers of the same shape, or on a single number and any numbers."""
        one, other = _numbers(left, sign), _numbers(right, sign)
        axes = _common_axes(sign, one, other)
        with np.errstate(all="ignore"):
            return Values(array=np.asarray(_ARITHMETIC[sign](_floats(one), _floats(other))), axes=axes)

    def compare(self, sign: str, left: Result, right: Result) -> Result:
        """Return whether a comparison holds for all numbers, or for two words."""
        if isinstance(left, Values) and isinstance(right, Values):
            _common_axes(sign, left, right)
            holds = bool(np.all(_COMPARISONS["==" if sign == "!=" else sign](_floats(left), _floats(right))))
            return holds != (sign == "!=")
        if isinstance(left, str) and isinstance(right, str) and sign in ("==", "!="):
            return (left == right) == (sign == "==")
        raise ExpressionError(
            "{left} and {right} cannot be compared with “{sign}”", left=in_words(left), right=in_words(right), sign=sign
        )

    def boolean(self, sign: str, values: Iterator[Result]) -> Result:
        """Return whether all or any comparisons hold; evaluate all of them, so that every error is reported."""
        truths = [_truth(value, sign) for value in values]
        return all(truths) if sign == "and" else any(truths)

    def other(self, node: ast.expr) -> Result:
        """Return a quantity, a selection, or the value of a function."""
        if result := quantity_of(node):
            return self._quantity(*result)
        match node:
            case ast.Call(ast.Attribute(of, "at"), [], [_, *_] as places) if all(place.arg for place in places):
                values = _numbers(self.value(of), "at")
                for place in places:
                    at = self.value(place.value)
                    values = values.at(str(place.arg), at if isinstance(at, str) else _numbers(at, "at").number)
                return values
            case ast.Call(ast.Attribute(_, "at")):
                raise ExpressionError("at takes an axis and a position, such as .at(query=3)")
            case ast.Call(ast.Name("isclose"), [one, other], [ast.keyword("within", within)]):
                return self._is_close(self.value(one), self.value(other), self.value(within))
            case ast.Call(ast.Name("isclose")):
                raise ExpressionError("isclose takes two values and a tolerance, such as isclose(a, b, within=0.01)")
            case ast.Call(ast.Name(name), given, []):
                return call(name, [self.value(part) for part in given])
            case ast.Call(ast.Name(name), given, [ast.keyword("over", ast.Name(axis) | ast.Constant(str() as axis))]):
                return call(name, [self.value(part) for part in given], axis)
        raise ExpressionError("“{code}” cannot be used here", code=excerpt(node))

    @staticmethod
    def _is_close(one: Result, other: Result, within: Result) -> bool:
        left, right = _numbers(one, "isclose"), _numbers(other, "isclose")
        _common_axes("isclose", left, right)
        a, b, apart = _floats(left), _floats(right), _numbers(within, "within").number
        with np.errstate(invalid="ignore"):
            return bool(np.all((a == b) | (np.abs(a - b) <= apart)))


def _parts(parts: ast.expr) -> Parts:
    results: list[str | float] = []
    for part in parts.elts if isinstance(parts, ast.Tuple) else [parts]:
        match part:
            case ast.Name(value) | ast.Constant(str() as value):
                results.append(value)
            case ast.Constant(int() | float() as value) if not isinstance(value, bool):
                results.append(float(value))
            case _:
                raise ExpressionError("brackets must contain names and numbers, not {code}", code=excerpt(part))
    return tuple(results)


def _numbers(value: Result, sign: str) -> Values:
    if not isinstance(value, Values):
        raise ExpressionError("“{sign}” needs numbers, not {what}", sign=sign, what=in_words(value))
    return value


def _floats(values: Values) -> np.ndarray:
    return np.asarray(values.array, dtype=np.float64)


def _truth(value: Result, sign: str) -> bool:
    if not isinstance(value, bool):
        raise ExpressionError(
            "“{sign}” connects comparisons, such as a < b, not {what}", sign=sign, what=in_words(value)
        )
    return value


def _common_axes(sign: str, one: Values, other: Values) -> tuple[Axis, ...]:
    """Return the axes of the result: the common axes of two arrays, or those of the array if one is a scalar."""
    if not one.axes or not other.axes:
        return one.axes or other.axes
    if [(axis.name, axis.size) for axis in one.axes] != [(axis.name, axis.size) for axis in other.axes]:
        raise ExpressionError(
            "“{sign}” needs values of the same shape, not {left} and {right}",
            sign=sign,
            left=one.in_words(),
            right=other.in_words(),
        )
    return one.axes
