r"""The notation of the stages' formulas, and its reading as MathML, which browsers draw on their own.

A formula is written as in TeX, with a little of it only: `_` and `^` after a symbol, braces for groups,
`\frac{a}{b}`, `\sqrt{a}`, and `\mathrm{word}` for upright words. Every other character stands for itself.

latex2mathml 3 reads far more of TeX, but it splits `\mathrm{softmax}` into seven elements and marks ∑, ⊙, − and ‖ as
variables.
"""

import re
from collections import deque
from typing import Any, TypeAlias

Tree: TypeAlias = tuple[str, Any]
"""The name of a MathML element, and its text, or a list of its children, which are trees."""

_OPERATORS = "=+-−·⊙×/()[]|‖,∑∏→<≤≥≠"
_TOKENS = re.compile(r"\\mathrm\{[^}]*\}?|\\[^{]*|\d[\d.]*|.", re.DOTALL)


def formula_tree(source: str) -> Tree:
    """Return a formula as the MathML elements to make: ("mrow", [("mi", "Q"), ("mo", "="), ...]).

    Args:
        source: in the notation above.

    Raises:
        ValueError: a brace that is not closed, or a command that the notation has not.
    """
    tokens = deque(_TOKENS.findall(source))
    children = _row(tokens)
    if tokens:
        raise ValueError(f"the formula {source!r} closes a brace that it has not opened")
    return "mrow", children


def _row(tokens: deque[str]) -> list[Tree]:
    """Read until the source, or the group, ends."""
    children: list[Tree] = []
    while tokens and tokens[0] != "}":
        if tokens[0] == " ":
            tokens.popleft()
        elif tokens[0] in ("_", "^"):
            scripts: dict[str, Tree] = {}  # below and above a symbol, in either order
            while tokens and tokens[0] in ("_", "^") and tokens[0] not in scripts:
                where = tokens.popleft()
                scripts[where] = _one(tokens)
            base = children.pop() if children else ("mrow", [])
            tag = "msubsup" if len(scripts) > 1 else "msub" if "_" in scripts else "msup"
            children.append((tag, [base, *(scripts[where] for where in "_^" if where in scripts)]))
        else:
            children.append(_one(tokens))
    return children


def _one(tokens: deque[str]) -> Tree:
    """Read one symbol, number, group or command."""
    if not tokens:
        raise ValueError("a formula ends where a symbol is missing")
    if tokens[0] == "{":
        children = _group(tokens)
        return children[0] if len(children) == 1 else ("mrow", children)
    token = tokens.popleft()
    if token.startswith("\\mathrm{"):
        word = token[len("\\mathrm{") :].removesuffix("}")
        return "mi" if len(word) > 1 else "mtext", word
    if token == "\\sqrt":
        return "msqrt", _group(tokens)
    if token == "\\frac":
        return "mfrac", [("mrow", _group(tokens)), ("mrow", _group(tokens))]
    if token.startswith("\\"):
        raise ValueError(f"the notation of formulas has no {token}; it has \\frac, \\sqrt and \\mathrm")
    if token[0].isdigit():
        return "mn", token
    return "mo" if token in _OPERATORS else "mi", token.replace("-", "−")


def _group(tokens: deque[str]) -> list[Tree]:
    """Read the content of braces."""
    rest = "".join(tokens)
    if not rest.startswith("{"):
        raise ValueError(f"a formula needs a group in braces before {rest!r}")
    tokens.popleft()
    children = _row(tokens)
    if not tokens:
        raise ValueError(f"the formula does not close the brace before {rest[1:]!r}")
    tokens.popleft()
    return children
