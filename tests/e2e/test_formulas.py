"""The formulas of the page Attention step by step, read from the page: each gives the number that stands beside it."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page

from tests.analysis.walkthrough.formula_values import Node, Reader, node, sides
from tests.e2e.looking import wait
from tests.e2e.shown import half_digit

pytestmark = pytest.mark.browser

TEXT = "The animal didn't cross the street because it was too tired."
READ = Path(__file__).with_name("formulas.js").read_text(encoding="utf-8")
SINGLE = 2e-6  # the model computes in single precision
NUMBERS = """() => {  // one of each quantity: its stage, and which of the numbers that are written there
  const root = [...document.querySelectorAll("[data-testid^=stBidiComponent]")]
    .map((host) => (host.shadowRoot ?? host).querySelector(".steps"))
    .find(Boolean);
  const found = new Map();
  [...root.querySelectorAll(".stop")].forEach((stop, stage) => {
    stop.click();
    const numbers = [...root.querySelectorAll(".lens .number")];
    numbers.forEach((number, place) => {
      const { name, column } = number.dataset;
      const others = numbers.filter((other) => other.dataset.name === name);
      const isOne = number === others[Math.min(5, others.length - 1)];
      if (!found.has(name) && isOne) found.set(name, { name, stage, place });
      const isMasked = name === "attn_scores" && number.textContent === "−∞";
      if (isMasked) found.set("masked", { name: "masked", stage, place });
    });
  });
  return [...found.values()];
}"""
OPEN = """({ stage, place }) => {
  const root = [...document.querySelectorAll("[data-testid^=stBidiComponent]")]
    .map((host) => (host.shadowRoot ?? host).querySelector(".steps"))
    .find(Boolean);
  root.querySelectorAll(".stop")[stage].click();
  root.querySelectorAll(".lens .number")[place].click();
}"""


@pytest.mark.parametrize(("model", "attention"), [("en-fr", "decoder"), ("stories", "decoder"), ("fill-in", "encoder")])
def test_every_formula_gives_the_number_beside_it(model: str, attention: str, page: Page):
    page.goto(f"/steps?model={model}&attention={attention}&layer=1&head=1&query=4&text={TEXT.replace(' ', '+')}")
    wait(page)
    numbers = page.evaluate(NUMBERS)
    names = {number["name"] for number in numbers}
    assert names > {
        "q",
        "k",
        "v",
        "product",
        "scaled",
        "attn_scores",
        "pattern",
        "z",
        "attn_out",
        "normalized",
        "mlp_post",
    }
    assert ("masked" in names) == (attention == "decoder")
    wait(page)
    before, wrong = None, {}
    for number in numbers:
        page.evaluate(OPEN, number)
        page.wait_for_function(
            f"(before) => {{ const read = ({READ})(); return read && read.place !== before; }}", arg=before
        )
        read = page.evaluate(READ)
        before = read["place"]
        if faults := [*apart(read)]:
            wrong[number["name"]] = faults, read
    assert not wrong


def apart(read: dict[str, Any]) -> Iterator[str]:
    """Tell each side of a formula that differs from the number by more than the digits allow that are shown.

    A sum that is listed as one of the inputs is held to its terms, too.
    """
    number = read["value"].removeprefix("= ")
    constants = [(node(symbol), text.removeprefix(" = ")) for symbol, text in read["constants"]]
    sums = [(symbol, text) for symbol, text in constants if "∑" in repr(symbol)]
    plain = [constant for constant in constants if constant not in sums]
    claims = [(side, number, constants) for side in sides(read["formula"])]
    claims += [(symbol, text, plain) for symbol, text in sums]
    for expression, text, listed in claims:
        shown = Inputs(expression, listed, read["terms"])
        (came, *moved), value = shown.come_to().tolist(), number_in(text)
        by_inputs = sum(abs(one - came) for one in moved) if math.isfinite(came) else 0.0
        rounding = half_digit(text) + 1.5 * by_inputs + SINGLE * (1 + abs(value))
        if came != value and not abs(came - value) <= rounding:
            yield f"{expression} comes to {came:.8g}, beside it stands {text}"


@dataclass(frozen=True)
class Inputs:
    """An expression, and what is written below it."""

    expression: Node
    constants: Sequence[tuple[Node, str]]
    terms: Sequence[Sequence[str]]

    def come_to(self) -> np.ndarray:
        """Return what the expression comes to: with its inputs as written, then with each moved by half a digit."""
        n, place = len(self.constants) + sum(map(len, self.terms)), count(1)

        def values(text: str) -> np.ndarray:
            moved = np.full(n + 1, number_in(text))
            moved[next(place)] += half_digit(text)
            return moved

        constants = [(symbol, values(text)) for symbol, text in self.constants]
        terms = [dict(zip("ab", map(values, texts), strict=False)) for texts in self.terms]
        reader = Reader(summed(self.expression), [{"b": None} | term for term in terms], constants)
        with np.errstate(all="ignore"):  # what is masked has the score -inf
            return np.broadcast_to(reader.value(self.expression), n + 1)


def summed(tree: Node) -> list[str]:
    """Return the symbols that have the index of a sum, in their order."""
    found: dict[str, None] = {}
    indices: list[Node] = []

    def walk(part: Node) -> None:
        tag, content = part
        if isinstance(content, str):
            return
        if tag == "msub" and content[0] == ("mo", "∑"):
            indices.append(content[1])
        elif tag == "msub" and content[1] in indices and content[0][0] == "mi":
            found.setdefault(content[0][1])
        for child in content:
            walk(child)

    walk(tree)
    return [*found]


def number_in(text: str) -> float:
    """Read a number as the page writes it."""
    return float(text.replace("−", "-").replace("∞", "inf"))
