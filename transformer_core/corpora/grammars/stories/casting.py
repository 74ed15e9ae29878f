"""How a plot is cast and planned: who plays in it is drawn, and each deed has to be possible when its turn comes."""

import random
from collections.abc import Mapping, Sequence
from typing import TypeVar

from transformer_core.corpora.grammars.stories.lexicon import all_with
from transformer_core.corpora.grammars.stories.people import BOYS, CHILDREN, FAMILY, GIRLS
from transformer_core.corpora.grammars.stories.things import LOOKS
from transformer_core.corpora.grammars.stories.world import Deed, Roles, World

T = TypeVar("T")


class Plan:
    """What happens in a tale, in order, before it is put into words."""

    def __init__(self, rng: random.Random, deeds: Mapping[str, Deed]) -> None:
        """Begin a tale with nothing but its hero; `deeds` are what can happen, by name."""
        self.random = rng.random
        self.deeds = deeds
        self.world = World()
        self.events: list[tuple[Deed, Roles]] = []
        self.hero = self.pick(CHILDREN)
        self.parents: dict[str, str] = {}  # grown-up of a family: the child through whom they are named
        self.thing = self.place = ""  # what else the tale is about

    def friend(self, child: str) -> str:
        """Draw another child; more often of the other gender, so that he and she can be told apart."""
        others = GIRLS if (child in BOYS) == self.maybe(0.75) else BOYS
        return self.pick([other for other in others if other != child])

    def family(self, child: str, *among: str) -> str:
        """Draw a grown-up of the child's family."""
        grown_up = self.pick(among or FAMILY)
        self.world.facts.add(("family_of", grown_up, child))
        self.parents[grown_up] = child
        return grown_up

    def draw(self, *feature: str, without: Sequence[str] = ()) -> str:
        """Draw somebody or something with a feature: `draw("eats", "cat")` is fish or milk. A thing gets its looks."""
        drawn = self.pick(all_with(*feature))
        while drawn in without:
            drawn = self.pick(all_with(*feature))
        if drawn in LOOKS and drawn not in self.world.looks:
            self.world.looks[drawn] = self.pick(LOOKS[drawn])
        return drawn

    def pick(self, options: Sequence[T]) -> T:
        """Draw one of several, all equally likely."""
        return options[int(self.random() * len(options))]

    def maybe(self, probability: float) -> bool:
        """Whether something happens that does so with this probability, in [0, 1]."""
        return self.random() < probability

    def chance(self, *probabilities: float) -> int:
        """Draw an index with these probabilities, which sum to 1."""
        draw = self.random()
        for index, probability in enumerate(probabilities):
            draw -= probability
            if draw < 0:
                return index
        return len(probabilities) - 1

    def holds(self, *fact: str) -> bool:
        """Whether something is so."""
        return self.world.holds(fact)

    def about(self, thing: str, place: str) -> None:
        """Say which thing and which place the tale is about, for the split."""
        self.thing, self.place = thing, place

    def do(self, name: str, **roles: str) -> None:
        """Let a deed happen; `roles` say who plays in it.

        Raises:
            RuntimeError: it cannot happen now: the plot contradicts itself.
        """
        deed = self.deeds[name]
        obstacles = self.world.obstacles(deed, roles)
        if obstacles:
            raise RuntimeError(f"{name} cannot happen now: {obstacles}")
        self.world.happen(deed, roles)
        self.events.append((deed, roles))
