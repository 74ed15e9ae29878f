"""Which stories are held out: those with a combination that training never shows."""

import hashlib
from functools import cache

Combination = tuple[str, str, str]

HELD_OUT_SHARE = 40  # one of this many combinations is held out
DRAW = "96"  # of the held-out combinations: one that gives every plot its share, 2 to 14 % of its stories


def combinations(plot: str, hero: str, thing: str, place: str) -> tuple[Combination, Combination]:
    """Return the two combinations of a story: plot, hero and thing; plot, thing and place.

    Args:
        plot: one of `PLOTS`.
        hero: the name of the child whom it is about.
        thing: the thing or animal that matters; in stories of a promise, the task.
        place: where it happens; where that does not matter, the other thing or person that does.
    """
    return (plot, hero, thing), (plot, thing, place)


@cache
def is_held_out_combination(combination: Combination) -> bool:
    """Return True if a combination is held out, by a hash of its words: independent of machine and seed."""
    digest = hashlib.sha256(" ".join((DRAW, *combination)).encode()).digest()
    return int.from_bytes(digest[:4]) % HELD_OUT_SHARE == 0
