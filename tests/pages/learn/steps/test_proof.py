"""The line of the proof: what it says where all numbers are right, rounded, or wrong."""

from types import SimpleNamespace
from typing import Any

import pytest

from pages.learn.steps import proof
from tests.pages.learn.bare import Bare
from transformer_core.analysis.walkthrough.records import Proof

USUAL: dict[str, Any] = {
    "n_numbers": 12345,
    "errors": {"z": 2e-7},
    "largest": 2e-7,
    "worst": "z",
    "share_of_tolerance": 0.5,
    "tolerance": 1e-5,
    "torch_function": "torch.nn.MultiheadAttention",
    "torch_errors": {"z": 3e-7, "output": 1e-7},
    "torch_reason": None,
    "torch_worst": "output",
    "torch_share_of_tolerance": 0.25,
    "dtype": "float32",
    "device": "cpu",
}


def told(bare: Bare, intervened: tuple[str, ...] = (), **changes: Any) -> str:
    made = Proof(**USUAL | changes)
    symbols = {"z": SimpleNamespace(symbol="Z"), "pattern": SimpleNamespace(symbol="A")}
    walk = SimpleNamespace(proof=lambda: made, quantities=symbols, intervened=intervened)
    proof.show(SimpleNamespace(walk=walk))  # type: ignore[arg-type]
    (words,) = bare.texts
    bare.clear()
    return words


def test_numbers_that_agree_are_verified_with_both_largest_errors(bare: Bare):
    words = told(bare)
    assert (
        "12,345 numbers, largest error 2.0e-07 against float64, 3.0e-07 against torch.nn.MultiheadAttention." in words
    )
    assert "hl-proved" in words and "The model computes in" not in words
    assert "largest error 0 against float64" in told(bare, largest=0.0)


def test_a_rounded_model_says_where_it_computes(bare: Bare):
    words = told(bare, dtype="bfloat16", device="cuda", torch_reason="It has no biases")
    assert words.index("It has no biases.") < words.index("The model computes in bfloat16 on cuda.")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"share_of_tolerance": 3.0}, "Z against float64, 2.0e-07, is 3.0 times"),
        ({"torch_share_of_tolerance": 4.0}, "output against torch.nn.MultiheadAttention, 1.0e-07, is 4.0 times"),
        ({"share_of_tolerance": 1.5, "torch_share_of_tolerance": 1.25}, "Z against float64, 2.0e-07, is 1.5 times"),
    ],
)
def test_numbers_that_do_not_agree_say_which_and_by_how_much(bare: Bare, changes: dict[str, Any], words: str):
    failed = told(bare, **changes)
    assert "hl-unproved" in failed and f"the error of {words} the tolerance of float32 on cpu." in failed


def test_numbers_that_an_intervention_sets_are_named_and_torch_is_left_out(bare: Bare):
    without = {"torch_errors": {}, "torch_worst": "", "torch_share_of_tolerance": 0.0}
    words = told(bare, ("pattern", "z"), torch_reason="It is left out", **without)
    assert "hl-proved" in words and "12,345 numbers, largest error 2.0e-07 against float64. It is left out." in words
    assert "An intervention sets numbers of A, Z, which do not follow from their formulas." in words
    assert "intervention" not in told(bare)


@pytest.mark.parametrize("share", [1.0, 0.0])
def test_all_of_the_tolerance_may_be_taken(bare: Bare, share: float):
    assert "hl-proved" in told(bare, share_of_tolerance=share, torch_share_of_tolerance=share)
