"""The card of one number: what it lists is put into the formula that it shows, and gives the number beside it."""

import json
from functools import cache
from itertools import product
from typing import Any

import pytest

import transformer_core as tc
from pages.learn.steps.components.steps.number import number_data
from tests.analysis.walkthrough.formula_values import node, values
from tests.e2e.browser import ROOT
from transformer_core.analysis.trace.attentions import attentions_of
from transformer_core.analysis.trace.model_run import run_text
from transformer_core.analysis.walkthrough.formulas import formula_tree
from transformer_core.analysis.walkthrough.walkthrough import Walkthrough, walk

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
                told = card(there, of, row, column)
                inputs = {part: told[part] for part in ("factors", "terms", "constants")}
                inputs["factors"] = [factor["symbol"] for factor in told["factors"]]
                for value in values(told["formula"], **inputs):
                    assert value == pytest.approx(float(told["value"]), rel=1e-5, abs=1e-5), (of, row, column)


@each_model
def test_a_normalization_shows_its_epsilon_and_a_masked_score_its_mask(name: str):
    for there in walks(name):
        normalized = "x_normalized" if "x_normalized" in there.quantities else "normalized"
        listed = {node(symbol): value for symbol, value in card(there, normalized, 1, 2)["constants"]}
        epsilon, variance = (node(formula_tree(symbol)) for symbol in ("ε", "σ^2"))
        assert listed[epsilon] == 1e-5 and listed[variance] > 0
        mask = node(formula_tree(r"\mathrm{mask}"))
        allowed = there.quantities["mask"].values
        for row, column in product(range(len(allowed)), range(allowed.shape[1])):
            told = card(there, "attn_scores", row, column)
            listed = {node(symbol): value for symbol, value in told["constants"]}
            assert listed[mask] == (0 if allowed[row, column] else "-Infinity")
            assert told["note"].startswith("allowed" if allowed[row, column] else "masked")
