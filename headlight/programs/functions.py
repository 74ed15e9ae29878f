"""The functions of a program, `lambda key, query: key == query`: read as a tree, and evaluated node by node.

Values are whole numbers, exact fractions, truth values, texts, None, and tuples of them. Nothing is looked up by a name
that the program gives, so a stranger's program can only compute.
"""

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

from transformer_core.errors import ProgramError

Value = Any
"""A whole number, a fraction, a truth value, a text, None, or a tuple of them."""

MOST_NODES = 100  # of a function's tree
LARGEST = 10**6  # whole number, and denominator of a fraction
MOST_PARTS = 100  # of one value: the numbers and characters in it, and its tuples
MOST_QUOTED = 48  # characters of code in an error
MOST_REMEMBERED = 10_000  # values of one function
_UNDEFINED = object()
_ARITHMETIC: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    **{ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul},
    **{ast.Div: Fraction, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod},
}
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    **{ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le},
    **{ast.Gt: operator.gt, ast.GtE: operator.ge, ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b},
}
_CALLS: Mapping[str, Callable[..., Any]] = {"abs": abs, "int": int, "max": max, "min": min, "str": str}


def excerpt(code: str) -> str:
    """Return code as an error quotes it: whole, or its beginning and "…"."""
    return code if len(code) <= MOST_QUOTED else f"{code[: MOST_QUOTED - 1]}…"


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
            ProgramError: it is none, or holds what a function may not hold.
        """
        if not isinstance(node, ast.Lambda):
            raise ProgramError("“{code}” is not a function; write lambda x: …", code=excerpt(ast.unparse(node)))
        spec = node.args
        if spec.posonlyargs or spec.vararg or spec.kwonlyargs or spec.kwarg or spec.defaults or not spec.args:
            raise ProgramError("a function takes plain parameters only, such as lambda x, y: …")
        if sum(1 for _ in ast.walk(node)) > MOST_NODES:
            raise ProgramError("this function is too long: it has more than {n} parts", n=MOST_NODES)
        function = cls(tuple(one.arg for one in spec.args), node.body, ast.unparse(node))
        for part in ast.walk(node.body):
            function._check(part)
        return function

    def __post_init__(self) -> None:
        """Remember values: a predicate is asked of the same keys and queries again and again."""
        object.__setattr__(self, "_remembered", lru_cache(maxsize=MOST_REMEMBERED, typed=True)(self._evaluate))

    def __call__(self, *values: Value) -> Value:
        """Return the function's value; None where it is not defined, such as 1 < None or 1 / 0.

        Raises:
            ProgramError: a number above a million, or a value with too many parts.
        """
        value = self._remembered(*values)
        return None if value is _UNDEFINED else value

    def is_defined(self, *values: Value) -> bool:
        """Return whether the function has a value; where it has none, it is called None."""
        return self._remembered(*values) is not _UNDEFINED

    def work(self, sizes: Sequence[int]) -> int:
        """Return how many steps a call takes at most, before it is made: the nodes, and the parts that they handle.

        Args:
            sizes: of each argument, its parts at most.
        """
        steps, _ = _work(self.body, dict(zip(self.parameters, sizes, strict=True)))
        return steps + sum(sizes)

    def _evaluate(self, *values: Value) -> Value:
        try:
            value = _value(self.body, dict(zip(self.parameters, values, strict=True)))
        except ProgramError:
            raise
        except (TypeError, ValueError, ArithmeticError, LookupError):
            return _UNDEFINED
        if isinstance(value, Fraction) and value.denominator == 1:
            return int(value)
        return value

    def _check(self, node: ast.AST) -> None:
        """Check one node.

        Raises:
            ProgramError: it is none of those that a function may hold.
        """
        match node:
            case ast.Constant(value) if value is None or type(value) in (bool, int, str):
                return
            case ast.Name(name) if name in self.parameters or name in _CALLS:
                return
            case ast.Name(name):
                raise ProgramError(
                    "“{name}” is not a parameter of this function; its parameters are {names}",
                    name=name,
                    names=", ".join(self.parameters),
                )
            case ast.BinOp(_, sign, _) if type(sign) in _ARITHMETIC:
                return
            case ast.Compare(_, signs) if all(type(sign) in _COMPARISONS for sign in signs):
                return
            case ast.Call(ast.Name(name), keywords=[]) if name in _CALLS:
                return
            case ast.UnaryOp(ast.USub() | ast.Not()) | ast.BoolOp() | ast.IfExp() | ast.Tuple() | ast.Subscript():
                return
            case ast.operator() | ast.cmpop() | ast.boolop() | ast.unaryop() | ast.expr_context():
                return
        raise ProgramError("“{code}” cannot be used in a function", code=excerpt(ast.unparse(node)))


def _value(node: ast.expr, given: Mapping[str, Value]) -> Value:
    """Return the value of a node that `Function._check` has passed."""
    match node:
        case ast.Constant(value):
            return value
        case ast.Name(name):
            return given[name]
        case ast.Tuple(parts):
            return _small(tuple(_value(part, given) for part in parts))
        case ast.BinOp(left, sign, right):
            return _number(_ARITHMETIC[type(sign)](_number(_value(left, given)), _number(_value(right, given))))
        case ast.UnaryOp(ast.USub(), of):
            return -_number(_value(of, given))
        case ast.UnaryOp(ast.Not(), of):
            return not _value(of, given)
        case ast.BoolOp(ast.And(), parts):
            return all(_value(part, given) for part in parts)
        case ast.BoolOp(_, parts):
            return any(_value(part, given) for part in parts)
        case ast.Compare(left, signs, others):
            return _compare(_value(left, given), signs, [_value(other, given) for other in others])
        case ast.IfExp(test, yes, no):
            return _value(yes if _value(test, given) else no, given)
        case ast.Subscript(of, place):
            return _value(of, given)[_value(place, given)]
        case ast.Call(ast.Name(name), arguments):
            return _small(_CALLS[name](*(_value(argument, given) for argument in arguments)))
    raise AssertionError(node)


def _work(node: ast.expr, sizes: Mapping[str, int]) -> tuple[int, int]:
    """Return how many steps a node takes at most, and how many parts its value has at most."""
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


def _compare(left: Value, signs: Sequence[ast.cmpop], others: Sequence[Value]) -> bool:
    """Return whether a chain of comparisons holds, such as 1 <= x < 3."""
    for sign, right in zip(signs, others, strict=True):
        if not _COMPARISONS[type(sign)](left, right):
            return False
        left = right
    return True


def _number(value: Value) -> int | Fraction:
    """Return a number, which may be calculated with.

    Raises:
        TypeError: it is none.
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
    """Return a value that may be kept. What it was made of has passed here, so that it is small enough to be counted.

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
    """Return how many parts a value has: of a text its characters, of a tuple itself and all that is in it."""
    if isinstance(value, tuple):
        return 1 + sum(map(n_parts, value))
    return max(1, len(value)) if isinstance(value, str) else 1
