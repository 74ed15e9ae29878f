"""What a formula comes to, read from its MathML and from the inputs listed beside it: nothing else is known here.

An input is a number, or an array of several values of it, as NumPy has them: then so is what the formula comes to.
"""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

Node = tuple[str, Any]  # a tag, with its text or its children
Number = Any  # a float, or an array of floats

CALLED: Mapping[str, Callable[..., Number]] = {
    "max": np.maximum,
    "cos": np.cos,
    "sin": np.sin,
    "tanh": np.tanh,
    "Φ": lambda x: (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2,
}
RELATIONS: Mapping[str, Callable[[Number, Number], Number]] = {"≤": operator.le, "<": operator.lt, "≠": operator.ne}
KNOWN = {"π": math.pi}


def node(tree: Any) -> Node:
    """The tree as tuples; a row of one thing is that thing."""
    tag, content = tree
    if isinstance(content, str):
        return tag, content
    children = tuple(node(child) for child in content)
    return children[0] if tag == "mrow" and len(children) == 1 else (tag, children)


def sides(tree: Any) -> list[Node]:
    """What stands between the equality signs of a formula."""
    tag, content = node(tree)
    results: list[list[Node]] = [[]]
    for child in content if tag == "mrow" else ((tag, content),):
        if child == ("mo", "="):
            results.append([])
        else:
            results[-1].append(child)
    return [node(("mrow", side)) for side in results]


class Reader:
    def __init__(self, factors: Sequence[str], terms: Sequence[Mapping[str, Any]], constants: Sequence[Any]) -> None:
        self.inputs: dict[Node, Number] = {node(symbol): np.float64(value) for symbol, value in constants}
        self.factors, self.terms = factors, terms
        self.bound: dict[Node, Number] = {}
        self.used: set[Node] = set()

    def value(self, tree: Node) -> Number:
        if tree in self.bound:
            return self.bound[tree]
        if tree in self.inputs:
            self.used.add(tree)
            return self.inputs[tree]
        match tree:
            case "mn", str(text):
                return float(text)
            case "mi", str(text) if text in KNOWN:
                return KNOWN[text]
            case "mfrac", (above, below):
                return self.value(above) / self.value(below)
            case "msqrt", inside:
                return np.sqrt(self.row(inside))
            case "msup", (("mi", "e"), power):
                return np.exp(self.value(power))
            case "msup", (base, power):
                return self.value(base) ** self.value(power)
            case "msubsup", (base, below, power):
                return self.value(("msub", (base, below))) ** self.value(power)
            case "mrow", inside:
                return self.row(inside)
        raise ValueError(f"nothing beside the formula says what {tree} is")

    def row(self, children: Sequence[Node]) -> Number:
        """What a row of things comes to; all of it has to be read."""
        rest = [*children]
        total = self.summed(rest)
        assert not rest, f"not read: {rest}"
        return total

    def summed(self, rest: list[Node]) -> Number:
        total = self.product(rest)
        while rest and rest[0] in (("mo", "+"), ("mo", "−")):
            _, sign = rest.pop(0)
            total = total + self.product(rest) * (1 if sign == "+" else -1)
        return total

    def product(self, rest: list[Node]) -> Number:
        if rest[0] == ("mo", "−"):
            rest.pop(0)
            return -self.product(rest)
        if rest[0][0] == "msub" and rest[0][1][0] == ("mo", "∑"):
            return self.sum_over(rest)
        total = self.factor(rest)
        while rest and (rest[0] == ("mo", "·") or rest[0][0] != "mo" or rest[0] == ("mo", "(")):
            if rest[0] == ("mo", "·"):
                rest.pop(0)
            total = total * self.factor(rest)
        return total

    def sum_over(self, rest: list[Node]) -> Number:
        index = rest.pop(0)[1][1]
        assert self.terms, "nothing is listed to be summed"
        left, total = rest.copy(), 0.0
        for term in self.terms:
            rest[:] = left
            for symbol, number in zip(self.factors, (term["a"], term["b"]), strict=False):
                self.bound["msub", (("mi", symbol), index)] = np.float64(number)
            total = total + self.product(rest)
        self.bound.clear()
        return total

    def factor(self, rest: list[Node]) -> Number:
        first = rest.pop(0)
        if first[1] in CALLED and rest and rest[0] == ("mo", "(") and first not in self.inputs:
            rest.pop(0)
            return CALLED[first[1]](*self.arguments(rest))
        match first:
            case "mo", "(":
                (inside,) = self.arguments(rest)
                return inside
            case "mo", "|":
                inside = self.summed(rest)
                assert rest.pop(0) == ("mo", "|")
                return abs(inside)
            case "mo", "[":
                left = self.summed(rest)
                _, relation = rest.pop(0)
                right = self.summed(rest)
                assert rest.pop(0) == ("mo", "]")
                return 1.0 * RELATIONS[relation](left, right)
        return self.value(first)

    def arguments(self, rest: list[Node]) -> list[Number]:
        results = [self.summed(rest)]
        while (end := rest.pop(0)) == ("mo", ","):
            results.append(self.summed(rest))
        assert end == ("mo", ")"), end
        return results


def values(
    formula: Any, *, factors: Sequence[str], terms: Sequence[Mapping[str, Any]], constants: Sequence[Any]
) -> list[Number]:
    """What each side of a formula comes to; a listed input that is a sum itself is summed up, too.

    Raises:
        ValueError: a symbol is not listed.
        AssertionError: an input is listed that the formula does not have.
    """
    reader = Reader(factors, terms, constants)
    results = [reader.value(side) for side in sides(formula)]
    for symbol, value in constants:
        written = node(symbol)
        if "∑" in repr(written):
            summed = Reader(factors, terms, [one for one in constants if node(one[0]) != written]).value(written)
            assert math.isclose(summed, float(value), rel_tol=1e-9), (summed, value)
        elif written != ("mrow", (("mi", "j"), ("mo", "−"), ("mi", "i"))):  # by which a trained bias is found
            assert written in reader.used, f"{written} is listed, but not in the formula"
    return results
