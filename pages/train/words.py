"""Numbers and measures as people say them."""

from transformer_core.language import mark, say

MEASURES = {
    "relative_entropy": mark("Entropy"),
    "diagonality": mark("Diagonality"),
    "previous": mark("On the token before"),
    "induction": mark("Induction"),
    "aligned": mark("On the true alignment"),
}
UNITS = {"relative_entropy": mark("of the largest possible entropy"), "diagonality": mark("diagonal")}
UNIT = mark("of its attention")  # of the other measures


def amount(number: float) -> str:
    """Return a count with a unit that reads well: "790 thousand", "63.1 million"."""
    if number < 10_000:
        return say("{n:,.0f}", n=number)
    if number < 1e6:
        return say("{n:,.0f} thousand", n=number / 1000.0)
    return say("{n:,.1f} million", n=number / 1000000.0)


def duration(seconds: float) -> str:
    """Return about how long something takes: "20 s", "3 min", "2 h"."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 90 * 60:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h"
