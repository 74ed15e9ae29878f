"""A line of a program with one small mistake: what a head does is seen when it does something else."""

import ast
import copy
from collections.abc import Iterator

_INSTEAD: dict[type[ast.cmpop], type[ast.cmpop]] = {
    **{ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt},
    **{ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.In: ast.NotIn, ast.NotIn: ast.In},
}


def mutations(line: str) -> list[str]:
    """Return a line of a program with one mistake each: another comparison, number or order of keys and queries.

    A line that cannot be read has none.

    Source: DeMillo et al. 1978, "Hints on Test Data Selection", for the idea.
    """
    name, _, expression = line.partition("=")
    try:
        tree = ast.parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return []
    return [f"{name.strip()} = {ast.unparse(changed)}" for changed in _changed(tree)]


def _changed(tree: ast.expr) -> Iterator[ast.expr]:
    """Yield a tree with one node changed, for each node that can be."""
    for place, node in enumerate(ast.walk(tree)):
        if isinstance(node, ast.Compare | ast.Constant | ast.Call | ast.BinOp):
            other = copy.deepcopy(tree)
            if _change(list(ast.walk(other))[place]):
                yield other


def _change(node: ast.AST) -> bool:
    """Make a mistake in a node; return whether there is one to make."""
    match node:
        case ast.Compare(ops=[operator, *_]) if type(operator) in _INSTEAD:
            node.ops[0] = _INSTEAD[type(operator)]()
        case ast.BinOp(op=ast.Add()):
            node.op = ast.Sub()
        case ast.BinOp(op=ast.Sub()):
            node.op = ast.Add()
        case ast.Constant(value=int(number)) if type(number) is int:
            node.value = number + 1
        case ast.Call(func=ast.Name("select"), args=[keys, queries, predicate]) if ast.dump(keys) != ast.dump(queries):
            node.args = [queries, keys, predicate]
        case _:
            return False
    return True
