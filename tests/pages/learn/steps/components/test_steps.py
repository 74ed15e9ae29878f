"""The figure of the page Attention step by step, and the formula of one number: what is sent to the browser."""

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.learn.steps.components.steps import At, attention_steps
from pages.shared.view.shared_value import SharedValue
from tests.pages.conftest import component
from transformer_core.analysis.walkthrough.records import Number, Quantity, Stage, Term

RANDOM = np.random.default_rng(3)
SIZES = {"query": 2, "key": 3, "d_head": 4}


def quantity(name: str, rows: str, columns: str) -> Quantity:
    values = RANDOM.normal(size=(SIZES[rows], SIZES[columns])).astype(np.float32)
    return Quantity(name=name, symbol=name.upper(), title=name, values=values, rows=rows, columns=columns, site=None)


QUANTITIES = [
    quantity("q", "query", "d_head"),
    quantity("k", "key", "d_head"),
    quantity("v", "key", "d_head"),
    quantity("attn_scores", "query", "key"),
    quantity("pattern", "query", "key"),
]
QUANTITIES[3].values[0, 2] = -np.inf
STAGE = Stage(
    name="product",
    formula="q_i · k_j = ∑_c q_{i c} k_{j c}",
    notice="product",
    matrices=("q", "k"),
)
NUMBER = Number(
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
    terms=(Term(label="0", a=1.5, b=2.0, value=3.0),),
    constants={r"\mathrm{mask}": -math.inf},
)


def figure(**options: Any) -> None:
    told: dict[str, Any] = {
        "stages": [STAGE],
        "quantities": QUANTITIES,
        "query_tokens": ["a", "שלום"],
        "key_tokens": ["a", "<b>", "c"],
        "n_queries": 30,
        "n_keys": 40,
        "first_query": 12,
        "first_key": 6,
        "head": 1,
        "n_heads": 2,
        "d_head": 4,
        "at": At(stage="product", query=13, key=7, cell=("q", 13, 3)),
        "place": SharedValue("steps", "view"),
        "on_view": lambda: None,
    }
    attention_steps(**told | options)


def show() -> None:
    """The page of these tests."""
    from pages.learn.steps.components.steps.number import steps_number
    from tests.pages.learn.steps.components.test_steps import NUMBER

    steps_number(NUMBER, torch_name="torch.nn.MultiheadAttention", key="number")


@pytest.fixture(scope="module")
def app() -> AppTest:
    app = AppTest.from_function(show).run()
    assert not app.exception
    return app


def test_what_does_not_fit_the_tokens_is_refused():
    wrong = replace(QUANTITIES[0], values=np.zeros((3, 4), dtype=np.float32))
    with pytest.raises(ValueError, match=r"2 queries and 3 keys, but q has the shape \(3, 4\); .* \(2, 4\)"):
        figure(quantities=[wrong])


def test_a_number_is_sent_with_its_formula_infinite_ones_in_words(app: AppTest):
    told = json.loads(component(app, "steps_number").json)
    assert told["place"] == "\u2068S, query 0 'שלום', key 2 '<b>'\u2069"
    assert (told["value"], told["recomputed"], told["difference"], told["torch"]) == ("-Infinity", "-Infinity", 0, None)
    assert told["terms"] == [{"label": "0", "a": 1.5, "b": 2.0, "value": 3.0}]
    assert told["constants"] == [[["mrow", [["mi", "mask"]]], "-Infinity"]]
    assert told["formula"][0] == "mrow"
