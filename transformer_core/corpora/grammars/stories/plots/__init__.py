"""The plots of the tales, and all deeds that they are made of."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from transformer_core.corpora.grammars.stories.casting import Plan
from transformer_core.corpora.grammars.stories.plots import (
    borrowed,
    broken,
    errand,
    everyday,
    gift,
    guess,
    hungry,
    lost,
    promise,
    repaid,
    repaired,
    seed,
    strayed,
    stuck,
    swap,
    thief,
)
from transformer_core.corpora.grammars.stories.world import Deed

Plot = Callable[[Plan], None]

PLOTS: Mapping[str, Plot] = MappingProxyType(
    {
        "borrowed": borrowed.borrowed,
        "broken": broken.broken,
        "errand": errand.errand,
        "gift": gift.gift,
        "guess": guess.guess,
        "hungry": hungry.hungry,
        "lost": lost.lost,
        "promise": promise.promise,
        "repaid": repaid.repaid,
        "repaired": repaired.repaired,
        "seed": seed.seed,
        "strayed": strayed.strayed,
        "stuck": stuck.stuck,
        "swap": swap.swap,
        "thief": thief.thief,
    }
)
DEEDS: tuple[Deed, ...] = (
    everyday.DEEDS
    + borrowed.DEEDS
    + broken.DEEDS
    + errand.DEEDS
    + gift.DEEDS
    + guess.DEEDS
    + hungry.DEEDS
    + lost.DEEDS
    + promise.DEEDS
    + repaid.DEEDS
    + repaired.DEEDS
    + seed.DEEDS
    + strayed.DEEDS
    + stuck.DEEDS
    + swap.DEEDS
    + thief.DEEDS
)
