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
    "torch_share_of_tolerance": 0.25,
    "dtype": "float32",
    "device": "cpu",
}


def told(bare: Bare, **changes: Any) -> str:
    made = Proof(**USUAL | changes)
    walk = SimpleNamespace(proof=lambda: made, quantities={"z": SimpleNamespace(symbol="Z")})
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
    words = told(bare, dtype="bfloat16", device="cuda", torch_reason="It has no biases.")
    assert words.index("It has no biases.") < words.index("The model computes in bfloat16 on cuda.")


@pytest.mark.parametrize(
    ("changes", "times"),
    [
        ({"share_of_tolerance": 3.0}, "3.0"),
        ({"torch_share_of_tolerance": 4.0}, "4.0"),
        ({"share_of_tolerance": 1.5, "torch_share_of_tolerance": 1.25}, "1.5"),
    ],
)
def test_numbers_that_do_not_agree_say_which_and_by_how_much(bare: Bare, changes: dict[str, Any], times: str):
    words = told(bare, **changes)
    assert "hl-unproved" in words and f"the error of Z against float64 is {times} times the tolerance" in words
    assert "float32 on cpu (largest error 2.0e-07; against torch.nn.MultiheadAttention 3.0e-07)" in words
    assert "the error of memory against" in told(bare, worst="memory", **changes)


@pytest.mark.parametrize("share", [1.0, 0.0])
def test_all_of_the_tolerance_may_be_taken(bare: Bare, share: float):
    assert "hl-proved" in told(bare, share_of_tolerance=share, torch_share_of_tolerance=share)
