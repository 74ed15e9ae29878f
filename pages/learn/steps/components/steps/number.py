"""One number and its formula, filled in with the numbers that it was made of, and how exact it is."""

import math
from typing import TYPE_CHECKING, Any

from headlight.analysis.walkthrough.formulas import formula_tree
from headlight.analysis.walkthrough.records import Number
from headlight.figures import isolate
from headlight.figures.theme import KEY, QUERY, VALUE
from pages.components.mounting import component
from transformer_core.language import say, say_message

if TYPE_CHECKING:
    from collections.abc import Mapping

HUES: "Mapping[str, str]" = {"q": QUERY, "k": KEY, "v": VALUE}  # of factors


def steps_number(number: Number, *, torch_name: str, key: str) -> None:
    """Draw how a number came about: its largest terms, the others when asked for, and how exact it is.

    Args:
        number: of a walk.
        torch_name: what gives torch's number, such as "torch.nn.MultiheadAttention".
        key: the component's key.
    """
    component(__file__, "steps_number", isolated=True)(key=key, data=number_data(number, torch_name))


def number_data(number: Number, torch_name: str) -> dict[str, Any]:
    """Return a number as the component reads it: the formula and the symbols in it as trees of MathML."""
    return {
        "place": isolate(say_message(number.place)),
        "formula": formula_tree(number.formula),
        "factors": [{"symbol": factor, "hue": HUES.get(factor, "")} for factor in number.factors],
        "terms": [
            {"label": isolate(term.label), "a": _sent(term.a), "b": _sent(term.b), "value": _sent(term.value)}
            for term in number.terms
        ],
        "constants": [[formula_tree(symbol), _sent(value)] for symbol, value in number.constants.items()],
        "value": _sent(number.value),
        "recomputed": _sent(number.recomputed),
        "difference": _sent(number.difference),
        "torch": _sent(number.mha),
        "torchName": torch_name,
        "note": say(number.note) if number.note else "",
    }


def _sent(value: float | None) -> Any:
    """Return a number as JSON can say it: an infinite one in words."""
    if value is None or math.isfinite(value):
        return None if value is None else float(value)
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
