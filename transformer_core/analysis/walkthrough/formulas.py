r"""The notation of the stages' formulas, and its reading as MathML, which browsers draw by themselves.

A formula is written as in TeX, with a little of it only: `_` and `^` after a symbol, braces for groups,
`\frac{a}{b}`, `\sqrt{a}`, and `\mathrm{word}` for upright words. Every other character stands for itself.

latex2mathml 3 reads far more of TeX, but it splits `\mathrm{softmax}` into seven elements and marks ∑, ⊙, − and ‖ as
variables.
"""

from typing import Any, TypeAlias

Tree: TypeAlias = tuple[str, Any]
"""The name of a MathML element, and its text, or a list of its children, which are trees."""

_OPERATORS = "=+-−·⊙×/()[]|‖,∑∏→<≤≥≠"


def formula_tree(source: str) -> Tree:
    """Return a formula as the MathML elements to make: ("mrow", [("mi", "Q"), ("mo", "="), ...]).

    Args:
        source: in the notation above.

    Raises:
        ValueError: a brace that is not closed, or a command that the notation has not.
    """
    children, rest = _row(source)
    if rest:
        raise ValueError(f"the formula {source!r} closes a brace that it has not opened")
    return "mrow", children


def _row(source: str) -> tuple[list[Tree], str]:
    """Read until the source, or the group, ends; return what was read, and the rest."""
    children: list[Tree] = []
    while source and source[0] != "}":
        if source[0] == " ":
            source = source[1:]
        elif source[0] in "_^":
            lower, upper, source = _scripts(source)
            base = children.pop() if children else ("mrow", [])
            parts = [part for part in (base, lower, upper) if part is not None]
            tag = "msubsup" if lower and upper else "msub" if lower else "msup"
            children.append((tag, parts))
        else:
            child, source = _one(source)
            children.append(child)
    return children, source


def _scripts(source: str) -> tuple[Tree | None, Tree | None, str]:
    """Read what stands below and above a symbol, in either order."""
    found: dict[str, Tree] = {}
    while source and source[0] in "_^" and source[0] not in found:
        where = source[0]
        found[where], source = _one(source[1:])
    return found.get("_"), found.get("^"), source


def _one(source: str) -> tuple[Tree, str]:
    """Read one symbol, number, group or command."""
    if not source:
        raise ValueError("a formula ends where a symbol is missing")
    if source[0] == "{":
        children, rest = _group(source)
        return (children[0] if len(children) == 1 else ("mrow", children)), rest
    if source[0] == "\\":
        return _command(source)
    if source[0].isdigit():
        n_digits = next((i for i, letter in enumerate(source) if not (letter.isdigit() or letter == ".")), len(source))
        return ("mn", source[:n_digits]), source[n_digits:]
    return ("mo" if source[0] in _OPERATORS else "mi", source[0].replace("-", "−")), source[1:]


def _group(source: str) -> tuple[list[Tree], str]:
    """Read what stands in braces."""
    if not source.startswith("{"):
        raise ValueError(f"a formula needs a group in braces before {source!r}")
    children, rest = _row(source[1:])
    if not rest:
        raise ValueError(f"the formula does not close the brace before {source[1:]!r}")
    return children, rest[1:]


def _command(source: str) -> tuple[Tree, str]:
    r"""Read \frac, \sqrt or \mathrm with its groups."""
    name, _, _ = source[1:].partition("{")
    rest = source[1 + len(name) :]
    if name == "mathrm":
        word, _, rest = rest[1:].partition("}")
        return ("mi" if len(word) > 1 else "mtext", word), rest
    if name == "sqrt":
        children, rest = _group(rest)
        return ("msqrt", children), rest
    if name == "frac":
        above, rest = _group(rest)
        below, rest = _group(rest)
        return ("mfrac", [("mrow", above), ("mrow", below)]), rest
    raise ValueError(f"the notation of formulas has no \\{name}; it has \\frac, \\sqrt and \\mathrm")
