"""The words of the stories, read from words.txt: who and what there is, its forms, and what is always true of it."""

import re
from functools import cache
from pathlib import Path

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
        "call": {name: name for name in CHILDREN}  # how one speaks to them
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


def _facts() -> frozenset[Fact]:
    facts: set[Fact] = {(group, who) for (group, _), names in _PEOPLE.items() for who in names}
    facts |= {("near", who) for who in FORMS["call"]} | {(word, word) for word in PHRASE}
    for (line,) in _TABLES["facts"]:
        head, _, players = line.partition(":")
        facts |= {(*head.split(), player.strip()) for player in players.split(",")}
    return frozenset(facts)


ALWAYS = _facts()
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
