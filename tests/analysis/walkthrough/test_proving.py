"""The proof finds what is wrong, and only that."""

import numpy as np
import pytest

from tests.analysis.walkthrough.small_walks import each_place, inputs_of, model_of, walked
from transformer_core.analysis.walkthrough import Walkthrough, walk
from transformer_core.analysis.walkthrough.proving import largest_error


@each_place
def test_every_number_is_proved(kind: str, attention: str, layer: int):
    there = walked(kind, attention, layer)
    proof = there.proof()
    assert proof.holds
    assert set(proof.errors) == {*there.quantities, "elementwise", "weighted"}
    pairs = 2 * len(there.query_labels) * len(there.key_labels) * model_of(kind).config.d_head
    assert proof.n_numbers == pairs + sum(quantity.values.size for quantity in there.quantities.values())
    assert proof.largest == max(proof.errors.values()) < 5e-5
    assert proof.torch_largest < 5e-5
    assert {"pattern", "z"} <= set(proof.torch_errors) <= {"pattern", "z", "concat", "attn_out"}
    assert (proof.torch_reason is None) == (proof.torch_function == "torch.nn.MultiheadAttention")


def spoilt(there: Walkthrough, name: str, *, by: float) -> Walkthrough:
    """The same walk with one wrong number."""
    values = {each: quantity.values.copy() for each, quantity in there.quantities.items()}
    row, column = np.argwhere(np.isfinite(values[name]))[-1]
    values[name][row, column] += by
    return held_against(there, there, values)


def held_against(there: Walkthrough, other: Walkthrough, values: dict[str, np.ndarray]) -> Walkthrough:
    """A walk's numbers beside those that were recomputed for another."""
    labels, where = (there.query_labels, there.key_labels), {"dtype": "float32", "device": "cpu"}
    return Walkthrough(other.outline, there._weights, there._inputs, values, other._recomputed, labels, **where)


@pytest.mark.parametrize(("kind", "attention"), [("decoder, q/k norm", "decoder"), ("window", "decoder")])
def test_one_wrong_number_is_found_wherever_it_is(kind: str, attention: str):
    there = walk(model_of(kind), inputs_of(kind), attention=attention, layer=1, head=1)
    for name in there.quantities:
        proof = spoilt(there, name, by=1.0 if name == "mask" else 0.02).proof()
        assert not proof.holds, name
        assert proof.share_of_tolerance > 1
        downstream = {"q": "elementwise", "k": "elementwise", "v": "weighted", "pattern": "weighted"}
        assert proof.worst in (name, downstream.get(name))
        assert proof.errors[name] == pytest.approx(1.0 if name == "mask" else 0.02, rel=1e-2)


def test_torch_finds_what_float64_finds_too():
    there = walked("the paper's", "encoder", 0)
    for name in ("pattern", "z", "concat", "attn_out"):
        proof = spoilt(there, name, by=0.01).proof()
        assert proof.torch_share_of_tolerance > 1
        assert max(proof.torch_errors, key=proof.torch_errors.__getitem__) == name


def test_the_numbers_of_another_head_are_found():
    """Numbers of one head do not pass for those of another."""
    kind = "the paper's"
    there, other = (walk(model_of(kind), inputs_of(kind), attention="encoder", layer=0, head=head) for head in (2, 1))
    values = {name: quantity.values for name, quantity in there.quantities.items()}
    proof = held_against(there, other, values).proof()
    assert not proof.holds
    assert {name for name, error in proof.errors.items() if error > 1e-3} >= {"q", "k", "v", "pattern", "z"}


def test_the_distance_of_infinities_and_of_what_is_no_number():
    inf, nan = np.inf, np.nan
    assert largest_error(np.array([1.0, -inf]), np.array([1.5, -inf])) == 0.5
    assert largest_error(np.array([0.0, -inf]), np.array([0.0, 3.0])) == inf
    assert largest_error(np.array([0.0, 3.0]), np.array([0.0, -inf])) == inf
    assert largest_error(np.array([0.0, nan]), np.array([0.0, 3.0])) == inf
    assert largest_error(np.zeros(0), np.zeros(0)) == 0
