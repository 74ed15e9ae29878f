"""A learner's line, evaluated node by node.

A name is one of the step's variables or of the functions of `operations`; an attribute is one of the few listed
here. No name that the learner wrote is ever looked up on a Python object.
"""

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from inspect import signature
from typing import Any, NoReturn, cast

import numpy as np

from headlight.expressions import Evaluator, Grammar, excerpt
from pages.learn.build.engine import values
from pages.learn.build.engine.operations import CONSTANTS, FUNCTIONS, METHODS, elementwise, inverted, matmul, negative
from pages.learn.build.engine.values import Budget, LineError, Value, array, integer, plain, shape_in_words, whole
from transformer_core.errors import mark

Given = Mapping[str, "np.ndarray | int | Callable[[np.ndarray], np.ndarray]"]
"""The variables of a step: arrays, numbers, and functions of an array that keep its shape."""

GRAMMAR = Grammar(
    error=LineError,
    nodes=(
        *(ast.Name, ast.Load, ast.Constant, ast.Attribute, ast.Call, ast.keyword, ast.Tuple, ast.List),
        *(ast.Subscript, ast.Slice, ast.Compare, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq),
        *(ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Pow, ast.MatMult),
        *(ast.UnaryOp, ast.USub, ast.UAdd, ast.Invert),
    ),
    most_nodes=160,
    most_depth=24,
    foreign=re.compile(r"""[^A-Za-z0-9_ .,:()\[\]+\-*/@~=<>!"'#]"""),  # characters without use in tensor arithmetic
    refusal=mark("“{code}” cannot be used in this line; write tensor arithmetic"),
)
MODULES = ("torch", "np", "numpy", "math", "F")
_WITHIN_MODULES = ("nn", "functional")  # torch.nn.functional
_ATTRIBUTES: Mapping[str, Callable[[np.ndarray], Value]] = {
    "T": lambda x: x.T,
    "mT": values.matrix_transpose,
    "shape": lambda x: x.shape,
    "values": lambda x: x,  # of torch's max along a dimension
}
_SIGNATURE = cache(signature)
REFUSED = mark("this line cannot be computed; check its shapes and numbers")
_SPELLINGS = {"axis": "dim", "keepdims": "keepdim"}  # NumPy's and torch's


def run(source: str, name: str, given: Given, budget: Budget | None = None) -> np.ndarray | float:
    """Return the result of a line.

    Args:
        source: an expression, or its assignment to `name`.
        name: of the result.
        given: the variables that the line may use.
        budget: counts the numbers and products that the run uses; None: a new budget.

    Returns:
        An array of float64 or bool, or a number.

    Raises:
        LineError: the line cannot be read, uses something that is not available, or does not fit its variables.
    """
    if not source.strip():
        raise LineError("the line is empty; write {name} = …", name=name)
    target, tree = GRAMMAR.assignment(source)
    if target not in ("", name):
        raise LineError("call the result {name}, not {target}", name=name, target=target)
    with np.errstate(all="ignore"):
        try:
            value = _Run(given, budget or Budget()).value(tree)
        except LineError:
            raise
        except (ValueError, ArithmeticError, TypeError, IndexError, MemoryError):  # an unforeseen error in NumPy
            raise LineError(REFUSED) from None
    if isinstance(value, np.ndarray | int | float):
        return value
    raise LineError("the line must return an array")


class _Run(Evaluator[Value]):
    """One evaluation."""

    def __init__(self, given: Given, budget: Budget) -> None:
        self._given, self._budget = given, budget

    def constant(self, value: object) -> Value:
        """Return a number, a truth value, or a string for `float`."""
        if isinstance(value, bool | float | str):
            return value
        return integer(value) if isinstance(value, int) else _unavailable(repr(value))

    def several(self, values: tuple[Value, ...]) -> Value:
        """Return a tuple."""
        return values

    def unary(self, sign: str, value: Value) -> Value:
        """Return the negative of a value, the inverse of a mask, or the value itself."""
        return value if sign == "+" else (negative if sign == "-" else inverted)(self._budget, value)

    def binary(self, sign: str, left: Value, right: Value) -> Value:
        """Return the matrix product, or the result of an elementwise operation."""
        if sign == "@":
            return matmul(self._budget, left, right)
        return elementwise(sign, self._budget, left, right)

    compare = binary

    def boolean(self, sign: str, values: Iterator[Value]) -> Value:
        """Reject a chain of comparisons."""
        raise LineError("compare two values at a time; a chain of comparisons has no array as its result")

    def other(self, node: ast.expr) -> Value:
        """Return the value of an attribute, an item or a call."""
        match node:
            case ast.Attribute():
                return self._attribute(node)
            case ast.Subscript():
                return self._item(node)
            case ast.Call():
                return self._call(node)
        _unavailable(node)

    def name(self, name: str) -> Value:
        """Return a variable that is not a function.

        Raises:
            LineError: there is no variable of this name.
        """
        value = self._given.get(name, CONSTANTS.get(name))
        if value is None or callable(value):
            if name in FUNCTIONS or callable(value):
                raise LineError("{name} is a function; call it: {name}(…)", name=name)
            raise LineError(
                "“{name}” is not a variable here; the variables are {names}", name=name, names=", ".join(self._given)
            )
        return cast("Value", value)

    def _attribute(self, node: ast.Attribute) -> Value:
        """Return a constant of a module, or one of the few attributes of an array."""
        if self._is_module(node.value):
            if node.attr in CONSTANTS:
                return CONSTANTS[node.attr]
            _unavailable(node)
        if node.attr in METHODS:
            raise LineError("{name} is a function; call it: {name}(…)", name=node.attr)
        if node.attr not in _ATTRIBUTES:
            _unavailable(f".{node.attr}")
        return _ATTRIBUTES[node.attr](array(self.value(node.value)))

    def _is_module(self, node: ast.expr) -> bool:
        """Return whether a node names torch, NumPy or a submodule, and not a variable."""
        while isinstance(node, ast.Attribute) and node.attr in _WITHIN_MODULES:
            node = node.value
        return isinstance(node, ast.Name) and node.id in MODULES and node.id not in self._given

    def _is_torch_max(self, node: ast.expr) -> bool:
        """Return whether a node calls torch's max along a dimension, not NumPy's."""
        match node:
            case ast.Call(ast.Attribute(owner, "max"), arguments, keywords):
                names = {keyword.arg for keyword in keywords}
                of_numpy = isinstance(owner, ast.Name) and owner.id in ("np", "numpy") and self._is_module(owner)
                has_axis = len(arguments) > self._is_module(owner) or names & {"dim", "keepdim"}
                return bool(has_axis) and not of_numpy and not names & {"axis", "keepdims"}
        return False

    def _call(self, node: ast.Call) -> Value:
        """Return the value of a function, or of an array's method."""
        of: tuple[Value, ...] = ()
        match node.func:
            case ast.Name(name) if callable(rotate := self._given.get(name)):
                return self._of_given(name, rotate, node)
            case ast.Name(name):
                functions = FUNCTIONS
            case ast.Attribute(owner, name) if self._is_module(owner):
                functions = FUNCTIONS
            case ast.Attribute(owner, name):
                functions, of = METHODS, (self.value(owner),)
                if not isinstance(of[0], np.ndarray):
                    _unavailable(f".{name}")
            case _:
                raise LineError("only a function can be called")
        if name not in functions:
            _unavailable(node.func)
        arguments = (*of, *map(self.value, node.args))
        options = {self._keyword(keyword): self.value(keyword.value) for keyword in node.keywords}
        function = functions[name]
        try:
            bound = _SIGNATURE(function).bind(self._budget, *arguments, **options)
        except TypeError:
            raise LineError("these are not the arguments of {name}", name=name) from None
        return function(*bound.args, **bound.kwargs)

    @staticmethod
    def _keyword(keyword: ast.keyword) -> str:
        name = _SPELLINGS.get(keyword.arg or "", keyword.arg)
        if name is None or name == "budget":
            _unavailable(name or "**")
        return name

    def _of_given(self, name: str, function: Callable[[np.ndarray], np.ndarray], node: ast.Call) -> Value:
        """Return the value of a function of the model, such as `rotate`, which checks its own argument."""
        if len(node.args) != 1 or node.keywords:
            raise LineError("these are not the arguments of {name}", name=name)
        x = array(self.value(node.args[0]))
        self._budget.take(x.shape)
        return function(x)

    def _item(self, node: ast.Subscript) -> Value:
        if self._is_torch_max(node.value) and isinstance(node.slice, ast.Constant) and node.slice.value == 0:
            return self.value(node.value)  # torch's max along a dimension is (values, indices)
        of = self.value(node.value)
        if isinstance(of, tuple):
            place = whole(self.value(node.slice))
            if not -len(of) <= place < len(of):
                raise LineError("there is no dimension {axis}; the array has {n}", axis=place, n=len(of))
            return of[place]
        x = array(of)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        index = tuple(self._index(part) for part in parts)
        try:
            result = x[index]
        except IndexError:
            raise LineError(
                "{code} is outside the array, which has shape {shape}",
                code=excerpt(node),
                shape=shape_in_words(x),
            ) from None
        self._budget.take(np.shape(result))
        return plain(np.asarray(result))

    def _index(self, part: ast.expr) -> Any:
        """Return an index: a whole number, a slice, None or ....

        Raises:
            LineError: it is none of these.
        """
        if isinstance(part, ast.Slice):
            ends = (part.lower, part.upper, part.step)
            start, stop, step = (None if end is None else whole(self.value(end)) for end in ends)
            if step == 0:
                raise LineError("the step of a slice cannot be 0")
            return slice(start, stop, step)
        if isinstance(part, ast.Constant) and (part.value is None or part.value is ...):
            return part.value
        return whole(self.value(part))


def _unavailable(code: ast.AST | str) -> NoReturn:
    raise LineError("“{name}” is not available here", name=excerpt(code))
