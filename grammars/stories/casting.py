"""Casting and planning a story: its players are drawn, and each deed must be possible when it happens."""

import random
from collections.abc import Sequence
from typing import TypeVar

from transformer_core.corpora.shipped.stories.world import (
    BOYS,
    CHILDREN,
    DEEDS,
    FAMILY,
    GIRLS,
    LOOKS,
    Deed,
    Roles,
    World,
    all_with,
)

T = TypeVar("T")


class Plan:
    """What happens in a story, in order, before it is put into words."""

    def __init__(self, rng: random.Random) -> None:
        """Begin a story with nothing but its hero."""
        self.random = rng.random
        self.world = World()
        self.looks: dict[str, str] = {}  # thing: its adjective, "" for none
        self.events: list[tuple[Deed, Roles]] = []
        self.hero = self.pick(CHILDREN)
        self.parents: dict[str, str] = {}  # grown-up of a family: the child through whom they are named
        self.thing = self.place = ""  # what else the story is about

    def friend(self, child: str) -> str:
        """Draw another child; more often of the other gender, so that he and she are unambiguous."""
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
        if drawn in LOOKS and drawn not in self.looks:
            self.looks[drawn] = self.pick(LOOKS[drawn])
        return drawn

    def pick(self, options: Sequence[T]) -> T:
        """Draw one of several, all equally likely."""
        return options[int(self.random() * len(options))]

    def maybe(self, probability: float) -> bool:
        """Return True with this probability, in [0, 1]."""
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
        """Return True if a fact is true now."""
        return self.world.holds(fact)

    def about(self, thing: str, place: str) -> None:
        """Note which thing and which place the story is about, for the split."""
        self.thing, self.place = thing, place

    def do(self, name: str, **roles: str) -> None:
        """Let a deed happen; `roles` are its players.

        Raises:
            RuntimeError: it is impossible now: the plot contradicts itself.
        """
        deed = DEEDS[name]
        obstacles = self.world.obstacles(deed, roles)
        if obstacles:
            raise RuntimeError(f"{name} cannot happen now: {obstacles}")
        self.world.happen(deed, roles)
        self.events.append((deed, roles))
