"""The world of a tale: what is true at a moment, and what each deed needs and changes.

A fact is a tuple of words, ("has", "Mia", "ball"). A deed names roles by single letters: one that needs "has A x" can
happen only while whoever plays A has whatever plays x; `gives` becomes true by it, and `ends` is true no more. What is
true for ever (a ball is a toy, a dog eats bones) is in lexicon.py, and is needed like any other fact.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from transformer_core.corpora.grammars.stories.lexicon import ALWAYS, always
from transformer_core.corpora.grammars.stories.wording import Wording, wording

Fact = tuple[str, ...]
Roles = dict[str, str]  # role letter: who or what plays it

# What a tale must not leave open, and how it is said of those concerned.
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
    """Something that can happen: when it can, what it changes, and how it is told."""

    name: str
    needs: tuple[Fact, ...]  # must be true; single letters are roles
    forbids: tuple[Fact, ...]  # must not be true ("not ..." in the table)
    gives: tuple[Fact, ...]
    ends: tuple[Fact, ...]
    says: tuple[Wording, ...]


def deeds(text: str) -> tuple[Deed, ...]:
    """Read deeds as the plots have them, with an empty line between two.

    Each is its name; the facts that it needs, gives and ends, with semicolons between them; and a wording a line.
    """
    return tuple(_deed(*map(str.strip, block.splitlines())) for block in text.strip().split("\n\n"))


def _deed(name: str, *lines: str) -> Deed:
    says = [wording(line) for line in lines if not line.startswith(("needs:", "gives:", "ends:"))]
    parts = dict(line.split(":", maxsplit=1) for line in lines[: len(lines) - len(says)])
    needs, gives, ends = (_facts(parts.get(part, "")) for part in ("needs", "gives", "ends"))
    return Deed(
        name=name,
        needs=tuple(fact for fact in needs if fact[0] != "not"),
        forbids=tuple(fact[1:] for fact in needs if fact[0] == "not"),
        gives=gives,
        ends=ends,
        says=tuple(says),
    )


def _facts(text: str) -> tuple[Fact, ...]:
    return tuple(tuple(fact.split()) for fact in text.split(";") if fact.strip())


def in_roles(pattern: Fact, roles: Mapping[str, str]) -> Fact:
    """The fact that a pattern states of those who play its roles; roles that nobody plays stay letters."""
    return tuple(map(roles.get, pattern, pattern))


@dataclass
class World:
    """What is true now."""

    facts: set[Fact] = field(default_factory=lambda: {("begin",)})
    looks: dict[str, str] = field(default_factory=dict)  # thing: its adjective, "" for none

    def copy(self) -> "World":
        """Return another world in which the same is true."""
        return World(set(self.facts), dict(self.looks))

    def holds(self, fact: Fact) -> bool:
        """Whether it is so, now or always."""
        return fact in self.facts or fact in ALWAYS

    def fill(self, patterns: tuple[Fact, ...], roles: Roles) -> Roles | None:
        """Find players for the roles that have none, so that all patterns hold; None if there are none."""
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
        """What keeps a deed from happening: facts that are missing, and, with "not" in front, facts in the way."""
        unmet: list[Fact] = [("not", "happened", deed.name)] if ("happened", deed.name) in self.facts else []
        for need in deed.needs:
            fact = in_roles(need, roles)
            if fact not in self.facts and fact not in ALWAYS:
                unmet.append(fact)
        for bar in deed.forbids:
            fact = in_roles(bar, roles)
            if self.holds(fact):
                unmet.append(("not", *fact))
        return unmet

    def happen(self, deed: Deed, roles: Mapping[str, str]) -> None:
        """Change what is true; nothing happens twice in a tale."""
        self.facts.add(("happened", deed.name))
        for fact in deed.ends:
            self.facts.discard(in_roles(fact, roles))
        for fact in deed.gives:
            self.facts.add(in_roles(fact, roles))

    def loose_ends(self) -> list[str]:
        """What is still open, a sentence each."""
        return [OPEN[fact[0]].format(*fact[1:]) for fact in sorted(self.facts) if fact[0] in OPEN]
