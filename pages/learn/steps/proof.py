"""The line that says whether every number of the page is correct: recomputed from the weights, and by torch's own."""

from pages.learn.steps.data import StepsData
from pages.shared import prose
from transformer_core.errors import mark
from transformer_core.language import localized, say

VERIFIED = mark("Every number on this page verified: {n:,} numbers, largest error {largest} against float64.")
VERIFIED_TWICE = mark(
    "Every number on this page verified: {n:,} numbers, largest error {largest} against float64, {torch} against "
    "{function}."
)
FAILED = mark(
    "Not every number on this page could be verified: the error of {quantity} against {reference}, {error}, is "
    "{times:.1f} times the tolerance of {dtype} on {device}."
)
INTERVENED = mark("Numbers of {quantities} are set by an intervention, so they do not follow from their formulas.")
ROUNDED = mark("The model computes in {dtype} on {device}.")


def show(data: StepsData) -> None:
    """Draw the line."""
    proof = data.walk.proof()
    where = {"dtype": proof.dtype, "device": proof.device}
    if not proof.holds:
        times, reference, worst, errors = max(
            (proof.share_of_tolerance, "float64", proof.worst, proof.errors),
            (proof.torch_share_of_tolerance, proof.torch_function, proof.torch_worst, proof.torch_errors),
        )
        error = _exponent(errors[worst])
        failed = say(FAILED, quantity=_symbol(data, worst), reference=reference, error=error, times=times, **where)
        prose.html("<p class='hl-proof hl-unproved'>{}</p>", failed)
        return
    numbers = {"n": proof.n_numbers, "largest": _exponent(proof.largest)}
    if proof.torch_errors:
        torch = _exponent(proof.torch_largest)
        words = [say(VERIFIED_TWICE, **numbers, torch=torch, function=proof.torch_function)]
    else:
        words = [say(VERIFIED, **numbers)]
    if proof.torch_reason:
        words.append(f"{say(proof.torch_reason)}.")
    if data.walk.intervened:
        words.append(say(INTERVENED, quantities=", ".join(_symbol(data, name) for name in data.walk.intervened)))
    if proof.dtype != "float32":
        words.append(say(ROUNDED, **where))
    prose.html("<p class='hl-proof hl-proved'>{}</p>", " ".join(words))


def _symbol(data: StepsData, name: str) -> str:
    """Return how the page writes a quantity."""
    quantities = data.walk.quantities
    return say(quantities[name].symbol) if name in quantities else name


def _exponent(error: float) -> str:
    return localized(error, ".1e") if error else "0"
