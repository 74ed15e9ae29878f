"""The words and the world of the stories: people, things, current facts, and the changes that each event makes.

A fact is a tuple of words, ("has", "Mia", "ball"). A deed, one kind of event, names roles by single letters: one that
needs "has A x" is possible only while the player of A has the player of x; it makes `gives` true and `ends` false. What
is always true (a ball is a toy, a dog eats bones) is in words.txt, with the forms of each word, and is needed like any
other fact.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from transformer_core.corpora.shipped.stories.wording import Wording, wording

Fact = tuple[str, ...]  # ("has", "Mia", "ball")


def _tables(text: str) -> dict[str, list[list[str]]]:
    """Return the rows of each section, each a list of cells."""
    lines = "\n".join(line for line in text.splitlines() if line and not line.startswith("#"))
    _, *parts = re.split(r"^\[(.+)\]$", lines, flags=re.MULTILINE)
    return {
        name: [[cell.strip() for cell in line.split("|")] for line in rows.strip().splitlines()]
        for name, rows in zip(parts[::2], parts[1::2], strict=True)
    }


_TABLES = _tables(Path(__file__).with_name("words.txt").read_text(encoding="utf-8"))

_PEOPLE = {(group, pronoun): tuple(names.split()) for pronoun, group, names in _TABLES["people"]}
GIRLS, BOYS = _PEOPLE["child", "she"], _PEOPLE["child", "he"]
CHILDREN = GIRLS + BOYS
FAMILY = _PEOPLE["family", "she"] + _PEOPLE["family", "he"]  # "her aunt", "Mia's aunt"
VILLAGE = _PEOPLE["village", "she"] + _PEOPLE["village", "he"]  # "the baker"
PEOPLE = {who: pronoun for (_, pronoun), names in _PEOPLE.items() for who in names}

ARTICLE = {word: article for word, article, _, _ in _TABLES["things"]}
PHRASE = {word: phrase for word, _, phrase, _ in _TABLES["things"]}  # the full noun: "pot of soup"
LOOKS = {word: tuple(looks.replace("-", "").split(", ")) for word, _, _, looks in _TABLES["things"]}  # adjectives
_PLURAL = frozenset(_TABLES["plural"][0][0].split())

PRONOUN = PEOPLE | {word: "they" if word in _PLURAL else "it" for word in PHRASE}


def indefinite(what: str, phrase: str) -> str:
    """Return a noun, with or without an adjective, after its article: a red ball, an old bell, some milk."""
    article = ARTICLE[what]
    if article in ("a", "an"):
        article = "an" if phrase[0] in "aeiou" else "a"
    return f"{article} {phrase}"


def _forms() -> dict[str, dict[str, str]]:
    forms = {
        "girl": {name: "girl" if name in GIRLS else "boy" for name in CHILDREN},
        "brother": {name: "sister" if name in GIRLS else "brother" for name in CHILDREN},
        "call": {name: name for name in CHILDREN}  # form of address
        | {who: who.capitalize() for who in ("mother", "father", "grandmother", "grandfather")},
        "was": {word: "were" if word in _PLURAL else "was" for word in PHRASE},
        "is": {word: "are" if word in _PLURAL else "is" for word in PHRASE},
        "a": {word: word if word in _PLURAL else indefinite(word, word) for word in PHRASE},
        "ate": {word: "drank" if word == "milk" else "ate" for word in PHRASE},
    }
    for section, rows in _TABLES.items():
        kind, *names = section.split()
        if kind == "forms":
            for word, *cells in rows:
                for name, cell in zip(names, cells, strict=True):
                    if cell != "-":
                        forms.setdefault(name, {})[word] = cell
    return forms


FORMS = _forms()
"""Of each form, each word that has it and how a wording says it: `FORMS["at"]["park"]` is "in the park"."""


def _always_true() -> frozenset[Fact]:
    facts: set[Fact] = {(group, who) for (group, _), names in _PEOPLE.items() for who in names}
    facts |= {("near", who) for who in FORMS["call"]} | {(word, word) for word in PHRASE}
    for (line,) in _TABLES["facts"]:
        head, _, players = line.partition(":")
        facts |= {(*head.split(), player.strip()) for player in players.split(",")}
    return frozenset(facts)


ALWAYS = _always_true()
"""The facts that are true in every story."""


@cache
def always(predicate: str) -> tuple[Fact, ...]:
    """Return all facts of one kind that are always true, in order."""
    return tuple(sorted(fact for fact in ALWAYS if fact[0] == predicate))


@cache
def all_with(*feature: str) -> tuple[str, ...]:
    """Return everything for which a fact with this beginning is always true: `all_with("eats", "cat")` is fish, milk.

    The result is sorted.
    """
    n = len(feature)
    return tuple(sorted(fact[n] for fact in ALWAYS if len(fact) == n + 1 and fact[:n] == feature))


Roles = dict[str, str]  # role letter: who or what plays it

# What a story must not leave unresolved, and the message that reports it.
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
    """Replace the roles of a pattern by their players, and return the fact; roles without a player stay letters."""
    return tuple(map(roles.get, pattern, pattern))


@dataclass
class World:
    """What is true now."""

    facts: set[Fact] = field(default_factory=lambda: {("begin",)})

    def copy(self) -> "World":
        """Return a copy of this world."""
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
        """Return the missing facts that a deed needs, and, preceded by "not", the facts that prevent it."""
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
        """Return the loose ends, one sentence per loose end."""
        return [OPEN[fact[0]].format(*fact[1:]) for fact in sorted(self.facts) if fact[0] in OPEN]
