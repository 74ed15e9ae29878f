"""Numbers as people say them."""

import math

from headlight.language import localized


def duration(seconds: float) -> str:
    """Return about how long something takes: "20 s", "3 min", "2 h"."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 90 * 60:
        return f"{round(seconds / 60)} min"
    return f"{localized(seconds / 3600, '.1f')} h"


def epochs_in_words(n: float) -> str:
    """Return a number of epochs: with two digits that matter below 10, else whole."""
    return localized(n, ".2g") if n < 9.95 else localized(n, ",.0f")


def loss_in_digits(nats: float) -> str:
    """Return a loss with three digits that matter, however small it is: "12.3", "1.69", "0.00213"."""
    if not 1e-6 <= nats < 1e6:
        return localized(nats, ".2g")
    return f"{nats:,.{max(0, 2 - math.floor(math.log10(nats)))}f}"
