"""Attention step by step: a figure of the numbers of a head, stage by stage, that runs entirely in the browser.

Choices show at once and are sent to the server: stage, query, key, and the number whose formula is requested, or None.
`pages.learn.steps.view_fields` validates them.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from headlight.analysis.walkthrough.formulas import formula_tree
from headlight.analysis.walkthrough.outline import Number, Stage, WalkMatrix
from headlight.figures import DARK, LIGHT, Theme, isolate
from headlight.figures.theme import KEY, NOT_FINITE, QUERY, VALUE
from headlight.language import say
from pages.components.mounting import component, packed
from pages.learn.steps.step_texts import NOTES, NOTICES, PLACES, QUANTITIES, SYMBOLS, TITLES
from pages.shared.view.shared_value import SharedValue
from transformer_core.errors import mark
from transformer_core.text.labels import border_in

if TYPE_CHECKING:
    from collections.abc import Mapping

SHORT = {  # short names of the stages: marked English, or a formula
    "input": mark("input"),
    "norm": mark("norm"),
    "projection": "q, k, v",
    "qk_norm": mark("norm q, k"),
    "rotation": "RoPE",
    "product": "q · k",
    "scale": "÷ √d_k",
    "bias": mark("bias"),
    "cap": mark("cap"),
    "mask": mark("mask"),
    "softmax": mark("softmax"),
    **dict.fromkeys(("dropout", "dropout_output", "dropout_feed_forward"), mark("dropout")),
    "weigh": mark("weight v"),
    "z": mark("sum"),
    "concat": mark("all heads"),
    "output": "W_O",
    "output_norm": mark("norm"),
    "add_norm": mark("add & norm"),
    "add": mark("add"),
    "cross": mark("cross"),
    "norm_2": mark("norm"),
    "feed_forward": "FFN",
    "feed_forward_norm": mark("norm"),
    "add_norm_2": mark("add & norm"),
    "add_2": mark("add"),
}
HUES = {  # the fixed hues; "weight": the sequential scale; others are orange below zero and indigo above
    **dict.fromkeys(("q_projected", "q_normalized", "q"), "query"),
    **dict.fromkeys(("k_projected", "k_normalized", "k"), "key"),
    **dict.fromkeys(("v", "z", "concat", "cross_concat", "weighted"), "value"),
    **dict.fromkeys(("pattern", "pattern_dropped"), "weight"),
}
CAPTIONS = {
    "product": "q·k",
    "scaled": "÷√d",
    "biased": "+B",
    "capped": mark("cap"),
    "mask": mark("mask"),
}  # short enough for a cell
PAIRS = {  # quantities of a query with each key, computed in the browser
    "elementwise": ("q ⊙ k", mark("Query and key, multiplied elementwise")),
    "weighted": ("A v", mark("Values multiplied by their weights")),
}
FACTOR_HUES: "Mapping[str, str]" = {"q": QUERY, "k": KEY, "v": VALUE}  # hues of the factors of a formula


@dataclass(frozen=True, kw_only=True)
class At:
    """The state of the figure; query and key are places in the whole text."""

    stage: str
    query: int
    key: int
    cell: tuple[str, int, int] | None  # name of a quantity, row and column; None: none is marked


def attention_steps(
    *,
    stages: Sequence[Stage],
    quantities: Sequence[WalkMatrix],
    labels: tuple[Sequence[str], Sequence[str]],
    shown: tuple[range, range],
    head: int,
    n_heads: int,
    d_head: int,
    at: At,
    place: SharedValue,
    on_view: Callable[[], None],
    is_self: bool = True,
) -> None:
    """Draw the path of one query through a head, from left to right, with a player that steps through the stages.

    Args:
        stages: in the order in which the model computes.
        quantities: the quantities of the stages, restricted to the rows and columns of the shown tokens.
        labels: of all queries and of all keys of the text.
        shown: the places of the shown queries and keys.
        head: index of the head among the concatenated heads.
        n_heads: number of concatenated heads.
        d_head: width of each head.
        at: the state that the figure moves to.
        place: the current state; its key is the component's.
        on_view: called before the run after a person moved the figure.
        is_self: whether queries and keys are the same tokens.

    Raises:
        ValueError: the shape of a quantity does not match the shown tokens.
    """
    whole = {"query": len(labels[0]), "key": len(labels[1])}
    query_tokens, key_tokens = (side[places.start : places.stop] for side, places in zip(labels, shown, strict=True))
    sizes = {"query": len(query_tokens), "key": len(key_tokens)}
    for quantity in quantities:
        wanted = sizes[quantity.rows], sizes.get(quantity.columns, quantity.values.shape[1])
        if quantity.values.shape != wanted:
            raise ValueError(
                f"The figure shows {sizes['query']} queries and {sizes['key']} keys, but {quantity.name} has the shape "
                f"{quantity.values.shape}; give its rows and columns of these tokens, {wanted}."
            )
    header = {
        "stages": [_stage(stage) for stage in stages],
        "quantities": [_quantity(quantity, whole) for quantity in quantities],
        "pairs": {
            name: {
                "symbol": symbol,
                "caption": symbol,
                "title": say(title),
                "hue": HUES.get(name, ""),
                "size": f"key {whole['key']}, d_head {d_head}",
            }
            for name, (symbol, title) in PAIRS.items()
        },
        "query": [isolate(token) for token in query_tokens],
        "key": [isolate(token) for token in key_tokens],
        "border": {"query": border_in(query_tokens), "key": border_in(key_tokens)},
        "first": {"query": shown[0].start, "key": shown[1].start},
        "nQueries": whole["query"],
        "nKeys": whole["key"],
        "head": head,
        "nHeads": n_heads,
        "dHead": d_head,
        "isSelf": is_self,
        "at": place.payload(asdict(at) | {"cell": at.cell and [*at.cell]}, echoes=False),
        "colors": {theme.name: _colors(theme) for theme in (LIGHT, DARK)},
    }
    values: list[Float[np.ndarray, "row column"]] = [quantity.values for quantity in quantities]
    numbers = b"".join(of.astype("<f4").tobytes() for of in values)
    component(__file__, "steps", isolated=True)(key=place.key, data=packed(header, numbers), on_view_change=on_view)


def _stage(stage: Stage) -> dict[str, Any]:
    return {
        "name": stage.name,
        "short": say(SHORT[stage.name]),
        "title": say(TITLES[stage.name]),
        "formula": formula_tree(stage.formula),
        "notice": say(NOTICES[stage.notice]),
        "matrices": stage.matrices,
    }


def _quantity(quantity: WalkMatrix, whole: Mapping[str, int]) -> dict[str, Any]:
    width = quantity.values.shape[1]
    n_rows, n_columns = whole[quantity.rows], whole.get(quantity.columns, width)
    return {
        "name": quantity.name,
        "symbol": symbol_of(quantity.name, quantity.symbol),
        "caption": say(CAPTIONS.get(quantity.name, quantity.symbol)),
        "title": say(QUANTITIES[quantity.name]),
        "rows": quantity.rows,
        "columns": quantity.columns,
        "shape": quantity.values.shape,
        "size": f"{quantity.rows} {n_rows}, {quantity.columns} {n_columns}",
        "hue": HUES.get(quantity.name, ""),
    }


def _colors(theme: Theme) -> dict[str, Any]:
    names = ("background", "text", "muted", "accent", "border", "forbidden", "sequential", "diverging")
    hues = {"notFinite": NOT_FINITE, "query": QUERY, "key": KEY, "value": VALUE}
    return {name: getattr(theme, name) for name in names} | hues


def steps_number(number: Number, *, torch_name: str) -> None:
    """Draw the computation of a number: its largest terms, the others on request, and its numerical error.

    Args:
        number: a number of the walk.
        torch_name: the PyTorch function compared with, such as "torch.nn.MultiheadAttention".
    """
    component(__file__, "steps_number", isolated=True)(key="steps-number", data=number_data(number, torch_name))


def number_data(number: Number, torch_name: str) -> dict[str, Any]:
    """Return a number in the format of the component, with its formula and symbols as MathML trees."""
    row = say(PLACES[number.row_kind], place=number.row_place)
    column = say(PLACES[number.column_kind], place=number.column_place)
    return {
        "place": isolate(", ".join((symbol_of(number.name, number.symbol), row, column))),
        "formula": formula_tree(number.formula),
        "factors": [{"symbol": factor, "hue": FACTOR_HUES.get(factor, "")} for factor in number.factors],
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
        "note": say(NOTES[number.note]) if number.note else "",
    }


def symbol_of(name: str, symbol: str) -> str:
    """Return the symbol of a quantity on the page."""
    return say(SYMBOLS.get(name, symbol))


def _sent(value: float | None) -> Any:
    """Return a number as a JSON value, with NaN and infinity as strings."""
    if value is None or math.isfinite(value):
        return None if value is None else float(value)
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
