"""The plots of the stories: each is a function that plans the events."""

from collections.abc import Callable, Mapping

from grammars.stories.casting import Plan
from grammars.stories.plots import belongings, encounters

PLOTS: Mapping[str, Callable[[Plan], None]] = {
    plot.__name__: plot
    for plot in (
        belongings.borrowed,
        belongings.broken,
        encounters.errand,
        belongings.gift,
        encounters.guess,
        encounters.hungry,
        belongings.lost,
        encounters.promise,
        encounters.repaid,
        belongings.repaired,
        encounters.seed,
        encounters.strayed,
        belongings.stuck,
        belongings.swap,
        encounters.thief,
    )
}
"""By name; a story draws one by its place in this order."""
