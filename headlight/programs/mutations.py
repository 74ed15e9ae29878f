"""Program lines with one small mistake each: the function of a head shows when it does something else."""

import ast
from collections.abc import Iterator

from headlight.expressions import SIGNS

_INSTEAD = {"==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "in": "not in", "+": "-", "-": "+"}

Replacement = tuple[int, int, str]
"""The first and the last byte of a part of a line, and its replacement."""


def mutations(line: str) -> list[str]:
    """Return a line of a program with one mistake each: another sign, number or order of keys and queries.

    A line that cannot be read has none.

    Source: DeMillo et al. 1978, "Hints on Test Data Selection", for the idea.
    """
    name, equals, expression = line.partition("=")
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return []
    code, result = expression.strip().encode(), []
    for first, last, instead in (one for node in ast.walk(tree) for one in _mistakes(node, code)):
        changed = code[:first] + instead.encode() + code[last:]
        result.append(f"{name.strip()} {equals} {changed.decode()}")
    return result


def _mistakes(node: ast.AST, code: bytes) -> Iterator[Replacement]:
    """Yield the possible mistakes in a node of a line, without those in its children."""
    match node:
        case (
            ast.Compare(left=left, ops=[operator, *_], comparators=[right, *_])
            | ast.BinOp(left=left, op=operator, right=right)
        ) if (sign := SIGNS.get(type(operator), "")) in _INSTEAD:
            start, end = _span(left)[1], _span(right)[0]  # there may be brackets beside the sign
            yield start, end, code[start:end].decode().replace(sign, _INSTEAD[sign], 1)
        case ast.Constant(value=bool(truth)):
            yield *_span(node), str(not truth)
        case ast.Constant(value=int(number)):
            yield *_span(node), str(number + 1)
        case ast.Call(func=ast.Name("select"), args=[keys, queries, _]):
            (start, end), (other_start, other_end) = _span(keys), _span(queries)
            first, between, second = code[start:end], code[end:other_start], code[other_start:other_end]
            if first != second:
                yield start, other_end, (second + between + first).decode()


def _span(node: ast.expr) -> tuple[int, int]:
    return node.col_offset, node.end_col_offset or node.col_offset
