"""Drawing a clause for a deed: its object, recipient and place."""

import random

from grammars.en_fr.choices import (
    choose_adjectives,
    choose_location,
    choose_noun,
    choose_object,
    nouns_of,
)
from grammars.en_fr.deeds import Deed
from grammars.en_fr.phrases import (
    Action,
    Clause,
    Nominal,
    NounPhrase,
    Polarity,
    Tense,
)
from grammars.en_fr.qualities import GROUPS
from grammars.en_fr.verbs import VERBS

INDEFINITE = frozenset(  # verbs that take "a book", and under negation "de livre"
    {"eat", "drink", "buy", "read", "write", "find", "lose", "see", "carry", "open", "give"}
)
ONLY_BESIDE_NOUN = frozenset({"new"})  # "a new coat"; "the coat is new" would be "neuf"
WITH_PLACE = frozenset({"see", "watch", "eat", "drink", "read", "find", "lose"})  # "saw the cat in the garden"


def act(
    rng: random.Random,
    subject: Nominal,
    deed: Deed,
    tense: Tense,
    polarity: Polarity = "yes",
    *,
    definite: bool = False,
    place: float = 0.0,
) -> Clause:
    """Return a clause for a deed, with a drawn object, recipient and place.

    Args:
        rng: the random generator.
        subject: who does it.
        deed: the verb and its possible objects.
        tense: when.
        polarity: yes, or a kind of negation.
        definite: the object is something known: "the apple", never "an apple".
        place: probability of a place, with the verbs that allow one.
    """
    verb = VERBS[deed.verb]
    location = choose_location(rng) if rng.random() < place and (deed.verb in WITH_PLACE or not deed.objects) else None
    if not deed.objects:
        return Clause(subject, Action(verb), tense, polarity, location)
    if verb.french_preposition:
        noun = choose_noun(rng, deed.objects)
        target = NounPhrase(noun, False, "the", choose_adjectives(rng, noun, 0.15))
        return Clause(subject, Action(verb, target), tense, polarity)
    names = [name for name in deed.objects if location is None or name not in GROUPS["buildings"]]
    negated = polarity != "yes"
    definite = definite or deed.verb not in (INDEFINITE if negated else INDEFINITE | {"watch", "follow"})
    target = choose_object(rng, names, subject=subject, negated=negated, definite=definite, owned=deed.verb != "buy")
    recipient = None
    if deed.verb == "give":
        recipient = NounPhrase(
            choose_noun(rng, [name for name in GROUPS["people"] if name not in nouns_of(subject)]), rng.random() < 0.25
        )
    return Clause(subject, Action(verb, target, recipient), tense, polarity, location)
