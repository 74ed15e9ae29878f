"""The plots of the tales, and all deeds that they are made of."""

from collections.abc import Callable, Mapping

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

_ALL = (
    *(borrowed, broken, errand, gift, guess, hungry, lost, promise),
    *(repaid, repaired, seed, strayed, stuck, swap, thief),
)
PLOTS: Mapping[str, Plot] = {
    name: getattr(module, name) for module in _ALL for name in [module.__name__.rpartition(".")[2]]
}
"""By name; each is a function that has the name of its file."""
DEEDS: Mapping[str, Deed] = {deed.name: deed for module in (everyday, *_ALL) for deed in module.DEEDS}
