"""What is sent to the browser: the figure, and the card of one number, whose formula gives the number beside it."""

import json
import math
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

import transformer_core as tc
from headlight.analysis.trace.attentions import attentions_of
from headlight.analysis.trace.model_run import run_text
from headlight.analysis.walkthrough.outline import Number, Stage, SumTerm, WalkMatrix
from headlight.analysis.walkthrough.walkthrough import Walkthrough, walk
from pages.learn.steps.components.steps import At, attention_steps, number_data
from pages.shared.view.shared_value import SharedValue
from tests.e2e.browser import ROOT
from tests.headlight.analysis.walkthrough.formula_values import values

MODELS = ("dates", "en-fr", "fill-in", "induction", "stories")


each_model = pytest.mark.parametrize("name", MODELS)


@cache
def walks(name: str) -> list[Walkthrough]:
    """Walks through a shipped model on its first example: every attention, in its first and its last layer."""
    model, tokenizer = tc.load(str(ROOT / "checkpoints" / name))
    (text, *_) = json.loads((ROOT / "checkpoints" / name / "card.json").read_text())["examples"]
    model_run = run_text(model, tokenizer, text, max_new_tokens=8)
    return [
        walk(model, model_run.inputs, attention=attention, layer=layer, head=1, labels=model_run.labels(attention))
        for attention, of in attentions_of(model.config).items()
        for layer in sorted({0, of.n_layers(model.config) - 1})
    ]


def card(there: Walkthrough, name: str, row: int, column: int) -> dict[str, Any]:
    """The card as it goes to the browser."""
    sent: dict[str, Any] = json.loads(json.dumps(number_data(there.number(name, row, column), "torch")))
    return sent


RANDOM = np.random.default_rng(3)


SIZES = {"query": 2, "key": 3, "d_head": 4}


def quantity(name: str, rows: str, columns: str) -> WalkMatrix:
    values = RANDOM.normal(size=(SIZES[rows], SIZES[columns])).astype(np.float32)
    return WalkMatrix(name=name, symbol=name.upper(), values=values, rows=rows, columns=columns, site=None)


@each_model
def test_every_formula_gives_its_number(name: str):
    """Every quantity of every stage, in the corners and in the middle; where a formula has two sides, both."""
    for there in walks(name):
        shown = {matrix for stage in there.stages for matrix in stage.matrices}
        assert shown <= {*there.quantities}
        n_pairs, width = there.quantities["pattern"].values.size, there.quantities["v"].values.shape[1]
        shapes = {of: quantity.values.shape for of, quantity in there.quantities.items()}
        for of, (rows, columns) in (shapes | dict.fromkeys(("elementwise", "weighted"), (n_pairs, width))).items():
            for row, column in product({0, rows // 2, rows - 1}, {0, columns // 2, columns - 1}):
                text = card(there, of, row, column)
                inputs = {part: text[part] for part in ("factors", "terms", "constants")}
                inputs["factors"] = [factor["symbol"] for factor in text["factors"]]
                for value in values(text["formula"], **inputs):
                    assert value == pytest.approx(float(text["value"]), rel=1e-5, abs=1e-5), (of, row, column)


def test_a_number_is_sent_with_its_formula_infinite_ones_in_words():
    number = Number(
        name="attn_scores",
        symbol="S",
        row=0,
        column=2,
        row_kind="query",
        column_kind="key",
        row_place="0 'שלום'",
        column_place="2 '<b>'",
        value=-math.inf,
        recomputed=-math.inf,
        mha=None,
        formula=r"∑_i x_i w_i + \mathrm{mask}",
        factors=("x", "w"),
        over="d_model",
        terms=(SumTerm(label="0", a=1.5, b=2.0, value=3.0),),
        constants={r"\mathrm{mask}": -math.inf},
    )
    sent = number_data(number, "torch.nn.MultiheadAttention")
    assert sent["place"] == "\u2068S, query 0 'שלום', key 2 '<b>'\u2069"
    assert (sent["value"], sent["recomputed"], sent["difference"], sent["torch"]) == ("-Infinity", "-Infinity", 0, None)
    assert json.loads(json.dumps(sent["constants"])) == [[["mrow", [["mi", "mask"]]], "-Infinity"]]


QUANTITIES = [
    quantity("q", "query", "d_head"),
    quantity("k", "key", "d_head"),
    quantity("v", "key", "d_head"),
    quantity("attn_scores", "query", "key"),
    quantity("pattern", "query", "key"),
]


STAGE = Stage(
    name="product",
    formula="q_i · k_j = ∑_c q_{i c} k_{j c}",
    notice="product",
    matrices=("q", "k"),
)


def figure(**options: Any) -> None:
    payload: dict[str, Any] = {
        "stages": [STAGE],
        "quantities": QUANTITIES,
        "labels": (["a"] * 30, ["<b>"] * 40),
        "shown": (range(12, 14), range(6, 9)),
        "head": 1,
        "n_heads": 2,
        "d_head": 4,
        "at": At(stage="product", query=13, key=7, cell=("q", 13, 3)),
        "place": SharedValue("steps", "view"),
        "on_view": lambda: None,
    }
    attention_steps(**payload | options)


def test_what_does_not_fit_the_tokens_is_refused():
    wrong = replace(QUANTITIES[0], values=np.zeros((3, 4), dtype=np.float32))
    with pytest.raises(ValueError, match=r"2 queries and 3 keys, but q has the shape \(3, 4\); .* \(2, 4\)"):
        figure(quantities=[wrong])
