"""Python-like expressions that people write: parsed by `ast`, checked node by node, and never compiled.

A `Grammar` says what an expression may contain and how large it may be. An `Evaluator` computes the value of each node;
the language that subclasses it says what a name, an operator or a call means. Nothing is looked up on a Python object
by a name from the expression, so that an untrusted expression can only compute.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, NoReturn, TypeVar

from transformer_core.errors import HeadlightError, Message, mark

V = TypeVar("V")
MOST_QUOTED = 48  # characters of code in an error
SIGNS: Mapping[type[ast.AST], str] = {
    **{ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**"},
    **{ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.In: "in"},
    **{ast.NotIn: "not in", ast.And: "and", ast.Or: "or", ast.Not: "not", ast.USub: "-", ast.UAdd: "+"},
    **{ast.MatMult: "@", ast.Invert: "~"},
}
_TARGET = re.compile(r"([A-Za-z_]\w*)\s*=(?!=)\s*")
_TOO_DEEP = mark("this expression is nested too deeply; split it")


@dataclass(frozen=True, kw_only=True)
class Grammar:
    """What an expression of a language may contain.

    Attributes:
        error: raised with one sentence where an expression breaks these rules.
        nodes: the kinds of nodes, operators and contexts included.
        most_nodes: maximum nodes of the tree, operators and contexts included.
        most_depth: maximum nesting depth of the nodes.
        most_characters: of the source.
        foreign: matches a character that the source may not contain; None: all are allowed.
        refusal: template of the error message for other kinds of nodes, with {code}.
    """

    error: type[HeadlightError]
    nodes: tuple[type[ast.AST], ...]
    most_nodes: int
    most_depth: int
    most_characters: int = 400
    foreign: re.Pattern[str] | None = None
    refusal: str = mark("“{code}” cannot be used here")

    def assignment(self, source: str) -> tuple[str, ast.expr]:
        """Return the name that a line assigns, "" where it assigns none, and its expression.

        Raises:
            HeadlightError: as for `parse`.
        """
        source = source.strip()
        self._check_source(source)
        target = _TARGET.match(source)
        return (target[1], self.parse(source[target.end() :])) if target else ("", self.parse(source))

    def parse(self, source: str) -> ast.expr:
        """Return the tree of an expression.

        Raises:
            HeadlightError: of the class `error`: it is not one, is too large, or contains a node that is not allowed.
        """
        source = source.strip()
        self._check_source(source)
        try:
            tree = ast.parse(source, mode="eval").body  # for invalid statements, Python would open the file "<unknown>"
        except SyntaxError as error:
            code = _marked(source, error.offset - 1 if error.offset else len(source))  # 0: at the end
            raise self.error(Message("“{code}” is not a Python expression; check it at ▸", code=code)) from None
        except (MemoryError, RecursionError, ValueError):
            raise self.error(_TOO_DEEP) from None
        self.check(tree)
        return tree

    def check(self, tree: ast.expr) -> None:
        """Check every node of a tree.

        Raises:
            HeadlightError: of the class `error`: it is too large, or contains a node that is not allowed.
        """
        level: list[tuple[ast.AST, ast.AST]] = [(tree, tree)]  # nodes, each with the expression around it
        n_nodes, refused = 0, None
        for _ in range(self.most_depth):
            n_nodes += len(level)
            below = []
            for node, around in level:
                expression = node if isinstance(node, ast.expr) else around
                if not isinstance(node, self.nodes):
                    refused = refused or expression
                below += [(part, expression) for part in ast.iter_child_nodes(node)]
            level = below
            if not level:
                break
        if level:
            raise self.error(_TOO_DEEP)
        if n_nodes > self.most_nodes:
            raise self.error(Message("this expression is too long: it has more than {n} parts", n=self.most_nodes))
        if refused:
            raise self.error(Message(self.refusal, code=excerpt(refused)))

    def _check_source(self, source: str) -> None:
        if len(source) > self.most_characters:
            raise self.error(Message("an expression may have at most {n} characters; split it", n=self.most_characters))
        if self.foreign and (match := self.foreign.search(source)):
            raise self.error(
                Message("the character “{character}” is not allowed here; use plain ASCII", character=match[0])
            )


class Evaluator(Generic[V]):
    """Computes the values of the nodes that a grammar allows; a language overrides the methods that it needs."""

    def value(self, node: ast.expr) -> V:
        """Return the value of a node.

        Raises:
            HeadlightError: it has none; the language says why.
        """
        match node:
            case ast.Constant(value):
                return self.constant(value)
            case ast.Name(name):
                return self.name(name)
            case ast.BinOp(left, sign, right):
                return self.binary(SIGNS[type(sign)], self.value(left), self.value(right))
            case ast.Compare(left, signs, others):
                values = [self.value(part) for part in (left, *others)]
                sides = zip(signs, values, values[1:], strict=False)
                compared = (self.compare(SIGNS[type(sign)], one, next_one) for sign, one, next_one in sides)
                return next(compared) if len(signs) == 1 else self.boolean("and", compared)
            case ast.UnaryOp(sign, of):
                return self.unary(SIGNS[type(sign)], self.value(of))
            case ast.BoolOp(sign, parts):
                return self.boolean(SIGNS[type(sign)], map(self.value, parts))
            case ast.IfExp(test, yes, no):
                return self.value(yes if self.value(test) else no)
            case ast.Tuple(parts) | ast.List(parts):
                return self.several(tuple(map(self.value, parts)))
        return self.other(node)

    def constant(self, value: object) -> V:
        """Return the value of a literal."""
        _missing(value)

    def name(self, name: str) -> V:
        """Return the value of a name that is not called."""
        _missing(name)

    def unary(self, sign: str, value: V) -> V:
        """Return a value with a sign before it."""
        _missing(sign)

    def binary(self, sign: str, left: V, right: V) -> V:
        """Return the result of an arithmetic operator."""
        _missing(sign)

    def compare(self, sign: str, left: V, right: V) -> V:
        """Return the result of a comparison."""
        _missing(sign)

    def boolean(self, sign: str, values: Iterator[V]) -> V:
        """Return the result of "and", "or", or a chain of comparisons; each value is computed when it is taken."""
        _missing(sign)

    def several(self, values: tuple[V, ...]) -> V:
        """Return the value of a tuple or a list."""
        _missing(values)

    def other(self, node: ast.expr) -> V:
        """Return the value of a call, an attribute, or an item."""
        _missing(node)


def excerpt(code: ast.AST | str) -> str:
    """Return code as an error quotes it: whole, or its beginning and "…"."""
    code = code if isinstance(code, str) else ast.unparse(code)
    return code if len(code) <= MOST_QUOTED else f"{code[: MOST_QUOTED - 1]}…"


def _marked(code: str, place: int) -> str:
    """Return the code around a place, with a mark there."""
    first, last = max(0, place - MOST_QUOTED // 2), place + MOST_QUOTED // 2
    return f"{'…' if first else ''}{code[first:place]}▸{code[place:last]}{'…' if code[last:] else ''}"


def _missing(what: object) -> NoReturn:
    raise AssertionError(f"the grammar allows {what!r}, and the language does not compute it")
