"""Formulas filled in, with numbers that can be followed by hand."""

import math

import numpy as np
import pytest

from tests.model.building import DECODER, odd_config
from transformer_core.analysis.walkthrough.filling import activated, dots, linear, normalized, rotated, softmax_share
from transformer_core.analysis.walkthrough.records import Term
from transformer_core.analysis.walkthrough.weights import Weights


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
    assert (without.formula, dict(without.constants)) == ("∑_i x_i w_i", {})


def test_layer_norm_has_its_mean_its_variance_and_its_epsilon():
    """Of 1, 2, 3, 6: the mean is 3, the biased variance 3.5."""
    weights = Weights({"ln.weight": np.array([1.0, 1, 2, 1]), "ln.bias": np.array([0.0, 0, 5, 0])})
    parts = {"X": np.array([1.0, 1, 1, 1]), "O": np.array([0.0, 1, 2, 5])}
    formula = normalized(weights, "ln", parts, 2, odd_config(layer_norm_eps=0.5))
    assert formula.formula == r"γ · \frac{X + O - μ}{\sqrt{σ^2 + ε}} + β"
    assert formula.constants == {"X": 1, "O": 2, "μ": 3, "σ^2": 3.5, "ε": 0.5, "γ": 2, "β": 5}


def test_rms_norm_has_its_length_and_its_epsilon():
    weights = Weights({"ln.weight": np.array([1.0, 3.0])})
    formula = normalized(weights, "ln", {"X": np.array([1.0, 7])}, 1, odd_config(norm="rms", layer_norm_eps=0.25))
    assert formula.formula == r"γ · \frac{X}{\sqrt{\frac{{‖X‖}^2}{n} + ε}}"
    assert formula.constants == {"X": 7, "{‖X‖}^2": 50, "n": 2, "ε": 0.25, "γ": 3}


def test_a_rotation_has_a_pair_its_position_and_its_frequency():
    config = odd_config(**DECODER, positions="rotary_halves", d_head=4, rotary_fraction=0.5)
    x = np.array([1.0, 2.0, 30.0, 40.0])
    first, second, left = (rotated(x, "q", 3, index, config) for index in (0, 1, 3))
    assert first.formula == r"q_{0} · \mathrm{cos}(p ω) - q_{1} · \mathrm{sin}(p ω)"
    assert second.formula == r"q_{0} · \mathrm{sin}(p ω) + q_{1} · \mathrm{cos}(p ω)"
    assert first.constants == second.constants == {"q_{0}": 1, "q_{1}": 2, "p": 3, "ω": 1}
    assert (left.formula, left.constants) == ("q_{3}", {"q_{3}": 40}) and left.note


def test_a_share_of_a_row_leaves_out_what_is_forbidden():
    scores = np.array([0.0, -np.inf, math.log(3)])
    formula = softmax_share(scores, 2, ["a", "b", "c"], None)
    assert [one.label for one in formula.terms] == ["a", "c"]
    assert [one.value for one in formula.terms] == pytest.approx([1 / 3, 1])
    assert [*formula.constants.values()] == pytest.approx([math.log(3), math.log(3), 4 / 3])
    forbidden = softmax_share(scores, 1, ["a", "b", "c"], "why")
    assert (forbidden.constants["S_j"], forbidden.note) == (-np.inf, "why")
    empty = softmax_share(np.full(2, -np.inf), 0, ["a", "b"], None)
    assert empty.formula == "0" and empty.note and not empty.terms


def test_a_neuron_with_and_without_a_gate():
    assert activated(-2.0, None, odd_config()).formula == r"\mathrm{max}(0 , H_0)"
    gated = activated(2.0, -3.0, odd_config(gated=True, activation="silu"))
    assert gated.formula == r"\frac{H_0}{1 + e^{-H_0}} · H_1"
    assert gated.constants == {"H_0": 2, "H_1": -3}
