"""The functions of a program, `lambda key, query: key == query`: read as a tree, and evaluated node by node.

Values are whole numbers, exact fractions, truth values, texts, None, and tuples of them. Nothing is looked up by a name
that the program gives, so an untrusted program can only compute.
"""

import ast
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

from headlight.expressions import Evaluator, Grammar, excerpt
from transformer_core.errors import ProgramError, mark

Value = Any
"""A whole number, a fraction, a truth value, a text, None, or a tuple of them."""

LARGEST = 10**6  # largest whole number, and largest denominator of a fraction
MOST_PARTS = 100  # of one value: the numbers and characters in it, and its tuples
MOST_REMEMBERED = 10_000  # cached values per function
GRAMMAR = Grammar(
    error=ProgramError,
    nodes=(
        *(ast.Constant, ast.Name, ast.Load, ast.Tuple, ast.Subscript, ast.Call, ast.IfExp),
        *(ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.UnaryOp, ast.USub, ast.Not),
        *(ast.BoolOp, ast.And, ast.Or, ast.Compare, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE),
        *(ast.In, ast.NotIn),
    ),
    most_nodes=100,
    most_depth=100,
    refusal=mark("“{code}” cannot be used in a function"),
)
_UNDEFINED = object()
_ARITHMETIC: Mapping[str, Callable[[Any, Any], Any]] = {
    **{"+": operator.add, "-": operator.sub, "*": operator.mul, "/": Fraction},
    **{"//": operator.floordiv, "%": operator.mod},
}
_COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    **{"==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt},
    **{">=": operator.ge, "in": lambda a, b: a in b, "not in": lambda a, b: a not in b},
}
_CALLS: Mapping[str, Callable[..., Any]] = {"abs": abs, "int": int, "max": max, "min": min, "str": str}


@dataclass(frozen=True, eq=False)
class Function:
    """A function of one or more values."""

    parameters: tuple[str, ...]
    body: ast.expr
    source: str
    _remembered: Callable[..., Value] = field(init=False, repr=False)

    @classmethod
    def of(cls, node: ast.expr) -> "Function":
        """Read a lambda expression.

        Raises:
            ProgramError: it is not a lambda expression, or contains something that is not allowed.
        """
        if not isinstance(node, ast.Lambda):
            raise ProgramError("“{code}” is not a function; write lambda x: …", code=excerpt(node))
        spec = node.args
        if spec.posonlyargs or spec.vararg or spec.kwonlyargs or spec.kwarg or spec.defaults or not spec.args:
            raise ProgramError("a function takes plain parameters only, such as lambda x, y: …")
        GRAMMAR.check(node.body)
        function = cls(tuple(one.arg for one in spec.args), node.body, ast.unparse(node))
        for part in ast.walk(node.body):
            function._check(part)
        return function

    def __post_init__(self) -> None:
        """Cache values: a predicate is applied to the same keys and queries again and again."""
        object.__setattr__(self, "_remembered", lru_cache(maxsize=MOST_REMEMBERED, typed=True)(self._evaluate))

    def __call__(self, *values: Value) -> Value:
        """Return the function's value; None where it is not defined, such as 1 < None or 1 / 0.

        Raises:
            ProgramError: a number above a million, or a value with too many parts.
        """
        value = self._remembered(*values)
        return None if value is _UNDEFINED else value

    def is_defined(self, *values: Value) -> bool:
        """Return whether the function has a value; where it has none, a call returns None."""
        return self._remembered(*values) is not _UNDEFINED

    def work(self, sizes: Sequence[int]) -> int:
        """Return an upper bound on the steps of a call, without making it: its nodes, and the parts that they handle.

        Args:
            sizes: maximum number of parts of each argument.
        """
        steps, _ = _work(self.body, dict(zip(self.parameters, sizes, strict=True)))
        return steps + sum(sizes)

    def _evaluate(self, *values: Value) -> Value:
        try:
            value = _Call(dict(zip(self.parameters, values, strict=True))).value(self.body)
        except ProgramError:
            raise
        except (TypeError, ValueError, ArithmeticError, LookupError):
            return _UNDEFINED
        if isinstance(value, Fraction) and value.denominator == 1:
            return int(value)
        return value

    def _check(self, node: ast.AST) -> None:
        """Check the literals and names of a node that the grammar allows.

        Raises:
            ProgramError: a function may not contain this literal or call, or the name is not one of its parameters.
        """
        match node:
            case ast.Constant(value) if value is not None and type(value) not in (bool, int, str):
                pass
            case ast.Call(function) if not (isinstance(function, ast.Name) and function.id in _CALLS):
                pass
            case ast.Name(name) if name not in self.parameters and name not in _CALLS:
                raise ProgramError(
                    "“{name}” is not a parameter of this function; its parameters are {names}",
                    name=name,
                    names=", ".join(self.parameters),
                )
            case _:
                return
        raise ProgramError(GRAMMAR.refusal, code=excerpt(node))


class _Call(Evaluator[Value]):
    """One call of a function."""

    def __init__(self, arguments: Mapping[str, Value]) -> None:
        self._arguments = arguments

    def constant(self, value: object) -> Value:
        return value

    def name(self, name: str) -> Value:
        return self._arguments[name]

    def several(self, values: tuple[Value, ...]) -> Value:
        return _small(values)

    def unary(self, sign: str, value: Value) -> Value:
        """Return the negated number or truth value."""
        return not value if sign == "not" else -_number(value)

    def binary(self, sign: str, left: Value, right: Value) -> Value:
        return _number(_ARITHMETIC[sign](_number(left), _number(right)))

    def compare(self, sign: str, left: Value, right: Value) -> Value:
        return _COMPARISONS[sign](left, right)

    def boolean(self, sign: str, values: Iterator[Value]) -> Value:
        """Return a truth value; values after the deciding one are not computed."""
        return all(values) if sign == "and" else any(values)

    def other(self, node: ast.expr) -> Value:
        """Return an item, or the value of a function."""
        match node:
            case ast.Subscript(of, place):
                return self.value(of)[self.value(place)]
            case ast.Call(ast.Name(name), arguments):
                return _small(_CALLS[name](*map(self.value, arguments)))
        raise AssertionError(node)


def _work(node: ast.expr, sizes: Mapping[str, int]) -> tuple[int, int]:
    """Return the maximum number of steps that a node takes, and of parts that its value has."""
    within = [_work(part, sizes) for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
    within = [] if isinstance(node, ast.Name | ast.Constant) else within
    handled = sum(parts for _, parts in within)
    match node:
        case ast.Constant(value):
            size = n_parts(value)
        case ast.Name(name):
            size = sizes.get(name, 1)
        case ast.Tuple():
            size = 1 + handled
        case ast.Call(ast.Name("str")):
            size = MOST_PARTS
        case ast.IfExp() | ast.Subscript() | ast.BoolOp() | ast.Call():
            size = max(parts for _, parts in within)
        case _:
            size = 1
    size = min(size, MOST_PARTS)
    return 1 + size + handled + sum(steps for steps, _ in within), size


def _number(value: Value) -> int | Fraction:
    """Return a value if it is a number that arithmetic may use.

    Raises:
        TypeError: it is not a number.
        ProgramError: it is too large.
    """
    if not isinstance(value, int | Fraction):
        raise TypeError
    if not -LARGEST <= value <= LARGEST:
        raise ProgramError("a number of this program exceeds {largest:,}; keep its numbers smaller", largest=LARGEST)
    if value.denominator > LARGEST:
        raise ProgramError(
            "a fraction of this program has a denominator above {largest:,}; use simpler fractions", largest=LARGEST
        )
    return value


def _small(value: Value) -> Value:
    """Return a value if it is small enough. Its parts have passed this check before, so counting them is cheap.

    Raises:
        ProgramError: it has too many parts, or is too large a number.
    """
    if isinstance(value, int | Fraction):
        return _number(value)
    if n_parts(value) > MOST_PARTS:
        raise ProgramError(
            "a value of this program has more than {n} parts or characters; use shorter tuples and texts", n=MOST_PARTS
        )
    return value


def n_parts(value: Value) -> int:
    """Return the number of parts of a value: the characters of a text; a tuple itself and everything in it."""
    if isinstance(value, tuple):
        return 1 + sum(map(n_parts, value))
    return max(1, len(value)) if isinstance(value, str) else 1
