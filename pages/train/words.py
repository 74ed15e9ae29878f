"""Numbers and measures as people say them."""

MEASURES = {
    "relative_entropy": "Entropy",
    "diagonality": "Diagonality",
    "previous": "On the token before",
    "induction": "Induction",
    "aligned": "On the true alignment",
}
UNITS = {"relative_entropy": "of the largest possible entropy", "diagonality": "diagonal"}
UNIT = "of its attention"  # of the other measures
WRITES = {  # what a model does, by its architecture
    "encoder_decoder": "writes",
    "decoder_only": "goes on",
    "encoder_only": "fills in",
}


def amount(number: float) -> str:
    """Return a count with a unit that reads well: "790 thousand", "63.1 million"."""
    if number < 10_000:
        return f"{number:,.0f}"
    if number < 1e6:
        return f"{number / 1e3:,.0f} thousand"
    return f"{number / 1e6:,.1f} million"


def duration(seconds: float) -> str:
    """Return about how long something takes: "20 s", "3 min", "2 h"."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 90 * 60:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h"
