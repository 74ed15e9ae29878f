"""The smallest set of heads that is enough, searched greedily and checked against all smaller sets; and random sets."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

from headlight.analysis.heads.measures import HeadName

Heads = tuple[HeadName, ...]

Score = Callable[[Heads], tuple[float, float]]
"""Of a set of heads that are patched together: the share that flips, in [0, 1]; among equal shares, more is better."""


@dataclass(frozen=True, kw_only=True)
class SmallestSet:
    """A set of heads that is enough, and how far it is known to be the smallest."""

    heads: Heads
    n_checked: int  # every set of at most so many heads was tried; len(heads) - 1 or more: no smaller set is enough
    equally_small: tuple[
        Heads, ...
    ]  # all sets of the same size that are enough, this one too; () if not all were tried


def smallest_set(
    candidates: Sequence[HeadName], score: Score, *, at_least: float, most_sets: int
) -> SmallestSet | None:
    """Return a set of heads whose patch flips enough, as small as could be found.

    All sets of one head are tried, then all of two, and so on while there are at most `most_sets` of a size. If none of
    these is enough, heads are added greedily to the best set so far, each time the one that scores best.

    Args:
        candidates: the heads that may be in it.
        score: of a set.
        at_least: the share that is enough, in (0, 1].
        most_sets: sets of one size that are tried at most.

    Returns:
        None where even all candidates together are not enough along the greedy way.
    """
    best: Heads = ()
    n_checked = 0
    for size in range(1, len(candidates) + 1):
        if comb(len(candidates), size) > most_sets:
            break
        scores = {heads: score(heads) for heads in combinations(candidates, size)}
        best = max(scores, key=scores.__getitem__)
        n_checked = size
        if scores[best][0] >= at_least:
            enough = tuple(heads for heads, (share, _) in scores.items() if share >= at_least)
            return SmallestSet(heads=best, n_checked=n_checked, equally_small=enough)
    while len(best) < len(candidates):
        larger = {heads: score(heads) for heads in _with_one_more(best, candidates)}
        best = max(larger, key=larger.__getitem__)
        if larger[best][0] >= at_least:
            return SmallestSet(heads=best, n_checked=n_checked, equally_small=())
    return None


def random_sets(candidates: Sequence[HeadName], size: int, n: int, *, seed: int = 0) -> tuple[Heads, ...]:
    """Return n different random sets of heads; all sets of that size if there are no more than n.

    Args:
        candidates: the heads to draw from.
        size: of each set.
        n: how many sets.
        seed: of the draw.
    """
    if comb(len(candidates), size) <= n:
        return tuple(combinations(candidates, size))
    rng, drawn = random.Random(seed), dict[Heads, None]()
    while len(drawn) < n:
        places = sorted(rng.sample(range(len(candidates)), size))
        drawn[tuple(candidates[place] for place in places)] = None
    return tuple(drawn)


def _with_one_more(heads: Heads, candidates: Sequence[HeadName]) -> tuple[Heads, ...]:
    """Return each set of one head more, in the order of the candidates."""
    return tuple(
        tuple(head for head in candidates if head in heads or head == added)
        for added in candidates
        if added not in heads
    )
