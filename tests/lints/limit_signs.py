"""A limit means the same everywhere: what is called most is still allowed, and so is what is called least.

So the sign alone makes a comparison correct or wrong: `n > MOST_TOKENS` is too many, `n <= MOST_TOKENS` is not.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILES = [
    path for folder in ("pages", "headlight", "transformer_core") for path in sorted((ROOT / folder).rglob("*.py"))
]
UPPER = re.compile(r"_?(MOST|MAX|LONGEST|LARGEST|HIGHEST)(_|$)|.*_(LIMIT|MAX)$")
LOWER = re.compile(r"_?(LEAST|MIN|SHORTEST|SMALLEST|FEWEST|LOWEST)(_|$)|.*_MIN$")
TURNED = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}
ALLOWED = {"upper": (ast.Gt, ast.LtE), "lower": (ast.Lt, ast.GtE)}  # before the limit


def bound_of(side: ast.expr) -> str | None:
    """Whether a side of a comparison is an upper limit, a lower one, or none.

    It may be an entry of several limits, a multiple of one, or below 0.
    """
    if isinstance(side, ast.UnaryOp) and isinstance(side.op, ast.USub):
        return {"upper": "lower", "lower": "upper", None: None}[bound_of(side.operand)]
    if isinstance(side, ast.BinOp) and isinstance(side.op, ast.Mult | ast.Div | ast.FloorDiv):
        return bound_of(side.left)
    if isinstance(side, ast.Call) and isinstance(side.func, ast.Attribute) and side.func.attr == "get":
        return bound_of(side.func.value)
    while isinstance(side, ast.Subscript):
        side = side.value
    name = side.id if isinstance(side, ast.Name) else side.attr if isinstance(side, ast.Attribute) else ""
    if not name.isupper():
        return None
    return "upper" if UPPER.match(name) else "lower" if LOWER.match(name) else None


def faults(source: str) -> Iterator[tuple[int, str]]:
    """Yield each comparison with a limit that takes the limit itself for too much, or too little: line and source."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Compare):
            continue
        sides = [node.left, *node.comparators]
        for before, sign, after in zip(sides, node.ops, sides[1:], strict=False):
            kind = type(sign)
            if kind not in TURNED:
                continue
            for bound, standing in ((bound_of(after), kind), (bound_of(before), TURNED[kind])):
                if bound is not None and standing not in ALLOWED[bound]:
                    yield node.lineno, ast.unparse(node)


def problems() -> Iterator[str]:
    """Yield each comparison in the project that takes a limit itself for too much, or too little."""
    for path in FILES:
        yield from (f"{path.relative_to(ROOT)}:{line}: {code}" for line, code in faults(path.read_text()))
