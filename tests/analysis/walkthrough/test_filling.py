"""Formulas filled in, with numbers that can be followed by hand."""

import math

import numpy as np
import pytest

from tests.model.building import DECODER, odd_config
from transformer_core.analysis.walkthrough.arithmetic import Weights
from transformer_core.analysis.walkthrough.filling import activated, dots, linear, normalized, softmax_share, turned
from transformer_core.analysis.walkthrough.records import Term


def test_a_sum_of_products_term_by_term():
    formula = dots(np.array([1.0, 2.0]), np.array([3.0, -4.0]), ("q", "k"), "d_head")
    assert formula.terms == (Term(label="0", a=1, b=3, value=3), Term(label="1", a=2, b=-4, value=-8))
    assert dots(np.ones(1), np.ones(1), ("A", "v"), "key", ["0 'the'"]).terms[0].label == "0 'the'"


def test_a_projection_takes_its_row_of_the_weights():
    weights = Weights({"up.weight": np.array([[1.0, 0], [2, 3]]), "up.bias": np.array([7.0, 8])})
    formula = linear(weights, "up", np.array([10.0, 100.0]), 1, "d_model")
    assert [one.value for one in formula.terms] == [20, 300]
    assert formula.constants == {"b": 8}
    without = linear(Weights({"up.weight": np.eye(2)}), "up", np.array([10.0, 100.0]), 0, "d_model")
    assert (without.rule, dict(without.constants)) == ("sum of products", {})


def test_a_normalization_names_what_it_takes_away_and_what_it_divides_by():
    """Of 1, 2, 3, 6: the mean is 3, the biased variance 3.5."""
    weights = Weights({"ln.weight": np.array([1.0, 1, 2, 1]), "ln.bias": np.array([0.0, 0, 5, 0])})
    parts = {"X": np.array([1.0, 1, 1, 1]), "O": np.array([0.0, 1, 2, 5])}
    formula = normalized(weights, "ln", parts, 2, odd_config(layer_norm_eps=0.5))
    assert formula.constants == {"μ": 3, "σ": 2, "γ": 2, "β": 5}
    assert formula.terms == (Term(label="X", a=1, b=None, value=1), Term(label="O", a=2, b=None, value=2))
    rms = normalized(Weights({"ln.weight": np.ones(2)}), "ln", {"X": np.array([1.0, 7])}, 0, odd_config(norm="rms"))
    assert rms.constants == pytest.approx({"rms": 5, "γ": 1}, rel=1e-5)


def test_a_turn_has_two_terms_and_its_angle():
    config = odd_config(**DECODER, positions="rotary_halves", d_head=4, rotary_fraction=0.5)
    x = np.array([1.0, 2.0, 30.0, 40.0])
    first, second, left = (turned(x, 3, index, config) for index in (0, 1, 3))
    assert first.constants == second.constants == {"θ": 3.0}
    assert [one.value for one in first.terms] == pytest.approx([math.cos(3), -2 * math.sin(3)])
    assert [one.value for one in second.terms] == pytest.approx([math.sin(3), 2 * math.cos(3)])
    assert (left.rule, left.terms[0].value) == ("the same", 40)


def test_a_share_of_a_row_leaves_out_what_is_forbidden():
    scores = np.array([0.0, -np.inf, math.log(3)])
    formula = softmax_share(scores, 2, ["a", "b", "c"], None)
    assert [one.label for one in formula.terms] == ["a", "c"]
    assert [one.value for one in formula.terms] == pytest.approx([1 / 3, 1])
    assert formula.constants == pytest.approx({"S": math.log(3), "max": math.log(3), "Σ exp": 4 / 3})
    assert softmax_share(scores, 1, ["a", "b", "c"], "why").rule == "forbidden"
    assert softmax_share(np.full(2, -np.inf), 0, ["a", "b"], None).rule == "forbidden"


def test_a_neuron_with_and_without_a_gate():
    assert activated(-2.0, None, odd_config()).terms[0].value == 0
    gated = activated(2.0, -3.0, odd_config(gated=True))
    assert (gated.rule, gated.terms[0].value) == ("relu · b", -6)
