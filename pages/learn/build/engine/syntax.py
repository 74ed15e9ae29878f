"""A learner's line as a tree: only the kinds of nodes that tensor arithmetic needs, and not too many of them.

The source is parsed by `ast` and never compiled; the interpreter walks the tree. A character outside ASCII, a
backslash, a brace or a quotation mark other than that of "-inf" has no use in such a line, and is refused before.
"""

import ast
import re
from collections.abc import Mapping

from pages.learn.build.engine.errors import LineError

MOST_CHARACTERS = 400  # of a line
MOST_NODES = 160  # of its tree
MOST_DEPTH = 24  # nodes within each other
NODES = (
    *(ast.Name, ast.Load, ast.Constant, ast.Attribute, ast.Call, ast.keyword, ast.Tuple, ast.List),
    *(ast.Subscript, ast.Slice, ast.Compare, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq),
    *(ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Pow, ast.MatMult),
    *(ast.UnaryOp, ast.USub, ast.UAdd, ast.Invert),
)
_TARGET = re.compile(r"([A-Za-z_]\w*)\s*=(?!=)\s*")
_FOREIGN = re.compile(r"""[^A-Za-z0-9_ .,:()\[\]+\-*/@~=<>!"'#]""")


def parse(source: str, name: str) -> ast.expr:
    """Read an expression, or its assignment to a name.

    Args:
        source: one line.
        name: of what the line computes.

    Raises:
        LineError: it is neither, or holds what a line may not hold.
    """
    source = source.strip()
    if not source:
        raise LineError("the line is empty; write {name} = …", name=name)
    if len(source) > MOST_CHARACTERS:
        raise LineError("a line may have at most {n} characters", n=MOST_CHARACTERS)
    if foreign := _FOREIGN.search(source):
        raise LineError("the character “{character}” is not allowed here; use plain ASCII", character=foreign[0])
    target = _TARGET.match(source)
    if target and target[1] != name:
        raise LineError("call the result {name}, not {target}", name=name, target=target[1])
    tree = _parsed(source[target.end() :] if target else source)
    _check(tree)
    return tree


def _parsed(source: str) -> ast.expr:
    """Return the tree of an expression.

    As an expression, and not as statements: of statements that are not valid, Python reads the file of their name.

    Raises:
        LineError: it is none.
    """
    try:
        return ast.parse(source, mode="eval").body
    except SyntaxError as error:
        place = max(0, min((error.offset or 1) - 1, len(source)))
        before, after = source[:place][-12:], source[place:][:12]
        raise LineError("this is not a Python expression: {before}▸{after}", before=before, after=after) from None
    except (MemoryError, RecursionError, ValueError):
        raise LineError("this line is nested too deeply; split it") from None


def _check(tree: ast.expr) -> None:
    """Check every node of an expression.

    Raises:
        LineError: a kind of node is not allowed, or there are too many of them, or too many within each other.
    """
    n_nodes, level = 0, list[ast.AST]([tree])
    for _ in range(MOST_DEPTH):
        n_nodes += len(level)
        if n_nodes > MOST_NODES:
            raise LineError("this line is too long: it has more than {n} parts", n=MOST_NODES)
        below: list[ast.AST] = []
        for node in level:
            if not isinstance(node, NODES):
                raise LineError("“{kind}” cannot be used in this line; write tensor arithmetic", kind=_written(node))
            below += ast.iter_child_nodes(node)
        if not below:
            return
        level = below
    raise LineError("this line is nested too deeply; split it")


def _written(node: ast.AST) -> str:
    """Return how a node that is not allowed is called in Python."""
    return _CALLED.get(type(node), type(node).__name__)


_CALLED: Mapping[type[ast.AST], str] = {
    **{ast.Lambda: "lambda", ast.IfExp: "if", ast.NamedExpr: ":=", ast.Starred: "*"},
    **{ast.GeneratorExp: "for", ast.ListComp: "for", ast.BoolOp: "and, or", ast.Not: "not", ast.Await: "await"},
    **{ast.In: "in", ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not"},
}
