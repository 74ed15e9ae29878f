"""The line that says whether every number of the page is right: recomputed from the weights, and by torch's own."""

from pages.learn.steps.data import StepsData
from pages.shared import prose
from transformer_core.errors import mark
from transformer_core.language import say

VERIFIED = mark(
    "Every number on this page verified: {n:,} numbers, largest error {largest} against float64, {torch} against "
    "{function}."
)
FAILED = mark(
    "Not every number on this page could be verified: the error of {quantity} against float64 is {times:.1f} times "
    "the tolerance of {dtype} on {device} (largest error {largest}; against {function} {torch})."
)
ROUNDED = mark("The model computes in {dtype} on {device}.")


def show(data: StepsData) -> None:
    """Draw the line."""
    proof = data.walk.proof()
    told = {
        "n": proof.n_numbers,
        "largest": _exponent(proof.largest),
        "torch": _exponent(proof.torch_largest),
        "function": proof.torch_function,
    }
    if proof.holds:
        words = [say(VERIFIED, **told)]
        if proof.torch_reason:
            words.append(say(proof.torch_reason))
        if proof.dtype != "float32":
            words.append(say(ROUNDED, dtype=proof.dtype, device=proof.device))
        prose.html("<p class='hl-proof hl-proved'>{}</p>", " ".join(words))
        return
    times = max(proof.share_of_tolerance, proof.torch_share_of_tolerance)
    name = say(data.walk.quantities[proof.worst].symbol) if proof.worst in data.walk.quantities else proof.worst
    failed = say(FAILED, **told, quantity=name, times=times, dtype=proof.dtype, device=proof.device)
    prose.html("<p class='hl-proof hl-unproved'>{}</p>", failed)


def _exponent(error: float) -> str:
    return f"{error:.1e}" if error else "0"
