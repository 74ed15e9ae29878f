"""Which sentences are held out: those with a combination of words that training never shows."""

import hashlib
from collections.abc import Iterator
from functools import cache

from grammars.en_fr.choices import nouns_of
from grammars.en_fr.phrases import (
    Action,
    Clause,
    Existence,
    Link,
    NounPhrase,
    Sentence,
)

Combination = tuple[str, str, str]

HELD_OUT_SHARE = 20  # one of this many combinations is held out
ALWAYS_HELD_OUT = frozenset({("animal", "street", "tired"), ("animal", "street", "wide")})  # the best-known sentences


def combinations(sentence: Sentence) -> frozenset[Combination]:
    """Return the combinations of a sentence.

    For each reason (subject, object, quality); for each deed (subject, verb, object or place); for a sentence that
    describes (noun, its adjective, quality) and for one that says what there is (noun, "be", place).
    """
    all_combinations: set[Combination] = set(sentence.reasons)
    for piece in sentence.pieces:
        if isinstance(piece, Existence):
            all_combinations.add((piece.what.noun.english, "be", piece.location.place.noun.english))
        elif not isinstance(piece, Link):
            for clause in clauses(piece):
                all_combinations |= combinations_of_clause(clause)
    return frozenset(all_combinations)


def combinations_of_clause(clause: Clause) -> set[Combination]:
    """Return the combinations of a clause, for each of its subjects and objects."""
    if not isinstance(clause.predicate, Action):
        if not isinstance(clause.subject, NounPhrase):
            return set()
        noun, quality = clause.subject.noun.english, clause.predicate.quality.english
        return {(noun, adjective.english, quality) for adjective in clause.subject.adjectives}
    objects = nouns_of(clause.predicate.object) if clause.predicate.object else ()
    if clause.location and not objects:
        objects = nouns_of(clause.location.place)
    return {(who, clause.predicate.verb.base, what) for who in nouns_of(clause.subject) for what in objects}


def clauses(clause: Clause) -> Iterator[Clause]:
    """Yield a clause and the relative clauses in it."""
    yield clause
    target = clause.predicate.object if isinstance(clause.predicate, Action) else None
    for nominal in (clause.subject, target):
        if isinstance(nominal, NounPhrase) and nominal.relative:
            yield from clauses(nominal.relative)


def is_held_out(sentence: Sentence) -> bool:
    """Return True if a sentence has a held-out combination."""
    return any(is_held_out_combination(combination) for combination in combinations(sentence))


@cache
def is_held_out_combination(combination: Combination) -> bool:
    """Return True if a combination is held out, by a hash of its words: independent of machine and seed."""
    if combination in ALWAYS_HELD_OUT:
        return True
    digest = hashlib.sha256(" ".join(combination).encode()).digest()
    return int.from_bytes(digest[:4]) % HELD_OUT_SHARE == 0
