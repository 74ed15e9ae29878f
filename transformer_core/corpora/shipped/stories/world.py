"""The world of a story: what is true at a moment, and what each event needs and changes.

A fact is a tuple of words, ("has", "Mia", "ball"). A deed, one kind of event, names roles by single letters: one that
needs "has A x" is possible only while the player of A has the player of x; it makes `gives` true and `ends` false.
What is always true (a ball is a toy, a dog eats bones) is in lexicon.py, and is needed like any other fact.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from transformer_core.corpora.shipped.stories.lexicon import ALWAYS, Fact, always
from transformer_core.corpora.shipped.stories.wording import Wording, wording

Roles = dict[str, str]  # role letter: who or what plays it

# What a story must not leave open, and how it is reported.
OPEN = {
    "missing": "the {0} is still missing",
    "stuck": "the {0} is still out of reach",
    "broken": "the {0} is still broken",
    "untold": "{0} has not told the truth",
    "hungry": "the {0} is still hungry",
    "promised": "{0} has not kept the promise",
    "afraid": "{0} still does not know what it was",
    "trapped": "the {0} is still in trouble",
    "lost": "{0} has not found the way",
    "wished": "{0} has not been given the {1}",
    "on_the_way": "{0} has not arrived",
    "wants": "{0} has not got the {1}",
    "growing": "nothing has come of the {0}",
    "borrowed": "{0} has not given back the {1}",
    "suspects": "{0} has not made it up with {1}",
    "strayed": "the {0} is not home again",
}


@dataclass(frozen=True, kw_only=True)
class Deed:
    """A kind of event: when it is possible, what it changes, and its wordings."""

    name: str
    needs: tuple[Fact, ...]  # must be true; single letters are roles
    forbids: tuple[Fact, ...]  # must not be true ("not ..." in deeds.txt)
    gives: tuple[Fact, ...]
    ends: tuple[Fact, ...]
    wordings: tuple[Wording, ...]


def _deed(block: str) -> Deed:
    """Read one block of deeds.txt: the name; the facts that it needs, gives and ends; one wording a line."""
    name, *lines = map(str.strip, block.splitlines())
    wordings = [wording(line) for line in lines if not line.startswith(("needs:", "gives:", "ends:"))]
    parts = dict(line.split(":", maxsplit=1) for line in lines[: len(lines) - len(wordings)])
    needs, gives, ends = (_facts(parts.get(part, "")) for part in ("needs", "gives", "ends"))
    return Deed(
        name=name,
        needs=tuple(fact for fact in needs if fact[0] != "not"),
        forbids=tuple(fact[1:] for fact in needs if fact[0] == "not"),
        gives=gives,
        ends=ends,
        wordings=tuple(wordings),
    )


def _facts(text: str) -> tuple[Fact, ...]:
    return tuple(tuple(fact.split()) for fact in text.split(";") if fact.strip())


_BLOCKS = Path(__file__).with_name("deeds.txt").read_text(encoding="utf-8").strip().split("\n\n")
DEEDS: Mapping[str, Deed] = {deed.name: deed for deed in (_deed(block) for block in _BLOCKS if block[0] != "#")}
"""Everything that can happen in a story, by name."""


def in_roles(pattern: Fact, roles: Mapping[str, str]) -> Fact:
    """Return the fact that a pattern states of those who play its roles; roles without a player stay letters."""
    return tuple(map(roles.get, pattern, pattern))


@dataclass
class World:
    """What is true now."""

    facts: set[Fact] = field(default_factory=lambda: {("begin",)})

    def copy(self) -> "World":
        """Return another world in which the same is true."""
        return World(set(self.facts))

    def holds(self, fact: Fact) -> bool:
        """Return True if a fact is true, now or always."""
        return fact in self.facts or fact in ALWAYS

    def fill(self, patterns: tuple[Fact, ...], roles: Roles) -> Roles | None:
        """Return the roles with players for those that have none, so that all patterns hold; None if impossible."""
        if not patterns:
            return roles
        first, rest = in_roles(patterns[0], roles), patterns[1:]
        if not any(len(word) == 1 for word in first):
            return self.fill(rest, roles) if self.holds(first) else None
        same = sorted(fact for fact in self.facts if fact[0] == first[0])
        for fact in (*same, *always(first[0])):
            if len(fact) == len(first) and all(len(p) == 1 or p == w for p, w in zip(first, fact, strict=True)):
                filled = self.fill(rest, roles | {p: w for p, w in zip(first, fact, strict=True) if len(p) == 1})
                if filled is not None:
                    return filled
        return None

    def obstacles(self, deed: Deed, roles: Mapping[str, str]) -> list[Fact]:
        """Return the facts that a deed lacks, and, after "not", the facts that prevent it."""
        unmet: list[Fact] = [("not", "happened", deed.name)] if ("happened", deed.name) in self.facts else []
        unmet += [fact for need in deed.needs if not self.holds(fact := in_roles(need, roles))]
        unmet += [("not", *fact) for bar in deed.forbids if self.holds(fact := in_roles(bar, roles))]
        return unmet

    def happen(self, deed: Deed, roles: Mapping[str, str]) -> None:
        """Change what is true; nothing happens twice in a story."""
        self.facts.add(("happened", deed.name))
        for fact in deed.ends:
            self.facts.discard(in_roles(fact, roles))
        for fact in deed.gives:
            self.facts.add(in_roles(fact, roles))

    def loose_ends(self) -> list[str]:
        """Return the open ends, a sentence each."""
        return [OPEN[fact[0]].format(*fact[1:]) for fact in sorted(self.facts) if fact[0] in OPEN]
