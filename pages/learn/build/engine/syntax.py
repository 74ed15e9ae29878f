"""A learner's line as a tree: only the kinds of nodes that tensor arithmetic needs, and not too many of them.

The source is parsed by `ast` and never compiled; the interpreter walks the tree. A character outside ASCII, a
backslash, a brace or a quotation mark other than that of "-inf" has no use in such a line, and is refused before.
"""

import ast
import re

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
        raise LineError("the line is empty; write an expression")
    if len(source) > MOST_CHARACTERS:
        raise LineError("a line may have at most {n} characters", n=MOST_CHARACTERS)
    if foreign := _FOREIGN.search(source):
        raise LineError("“{character}” has no place in this line; use plain Python", character=foreign[0])
    tree = _parsed(source)
    _check(tree)
    return _expression(tree, name)


def _parsed(source: str) -> ast.Module:
    """Return the tree of a source.

    Raises:
        LineError: it is no Python.
    """
    try:
        return ast.parse(source)
    except SyntaxError as error:
        place = max(0, min((error.offset or 1) - 1, len(source)))
        before, after = source[:place][-12:], source[place:][:12]
        raise LineError("this is not valid Python: {before}▸{after}", before=before, after=after) from None
    except (MemoryError, RecursionError, ValueError):
        raise LineError("this line is nested too deeply; split it") from None


def _expression(tree: ast.Module, name: str) -> ast.expr:
    """Return what the only statement computes."""
    match tree.body:
        case [ast.Expr(value)]:
            return value
        case [ast.Assign([ast.Name(target)], value)] if target == name:
            return value
        case [ast.Assign([ast.Name(target)], _)]:
            raise LineError("call the result {name}, not {target}", name=name, target=target)
    raise LineError("write one line: {name} = …", name=name)


def _check(tree: ast.Module) -> None:
    """Check every node of a statement.

    Raises:
        LineError: a kind of node is not allowed, or there are too many of them, or too many within each other.
    """
    n_nodes, level = 0, list[ast.AST](tree.body)
    for _ in range(MOST_DEPTH):
        n_nodes += len(level)
        if n_nodes > MOST_NODES:
            raise LineError("this line is too long: it has more than {n} parts", n=MOST_NODES)
        below: list[ast.AST] = []
        for node in level:
            is_statement = node in tree.body and isinstance(node, ast.Expr | ast.Assign)
            is_target = isinstance(node, ast.Store)
            if not (is_statement or is_target or isinstance(node, NODES)):
                raise LineError("“{kind}” cannot be used in this line; write tensor arithmetic", kind=_written(node))
            below += ast.iter_child_nodes(node)
        if not below:
            return
        level = below
    raise LineError("this line is nested too deeply; split it")


def _written(node: ast.AST) -> str:
    """Return how a node that is not allowed is called in Python."""
    return _CALLED.get(type(node), type(node).__name__)


_CALLED: dict[type[ast.AST], str] = {
    ast.Lambda: "lambda",
    ast.IfExp: "if",
    ast.If: "if",
    ast.For: "for",
    ast.comprehension: "for",
    ast.GeneratorExp: "for",
    ast.ListComp: "for",
    ast.Import: "import",
    ast.ImportFrom: "import",
    ast.FunctionDef: "def",
    ast.ClassDef: "class",
    ast.NamedExpr: ":=",
    ast.Starred: "*",
    ast.Not: "not",
    ast.And: "and",
    ast.Or: "or",
    ast.BoolOp: "and, or",
    ast.In: "in",
    ast.Is: "is",
    ast.Mod: "%",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.AugAssign: "+=",
    ast.AnnAssign: ":",
    ast.JoinedStr: 'f""',
}
