"""Drawing phrases: noun, number, determiner, adjectives, tense, polarity, each with its frequency."""

import random
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TypeVar

from grammars.en_fr.deeds import LOCATIONS
from grammars.en_fr.lexicon import ADJECTIVES, NOUNS, SENSATIONS, Adjective, Noun, Sensation
from grammars.en_fr.phrases import (
    Both,
    Determiner,
    Front,
    Location,
    Nominal,
    NounPhrase,
    Polarity,
    State,
    Tense,
    Time,
)
from grammars.en_fr.qualities import (
    DIMENSION,
    FITS,
    GROUPS,
    NEVER_GRADED,
    NEVER_TOO,
    PASSING,
    go_together,
)
from grammars.en_fr.verbs import Verb

T = TypeVar("T")

TENSES: dict[str, dict[Tense, int]] = {  # aspect of the verb: relative frequency of each tense
    "event": {"past": 45, "progressive": 20, "future": 17, "past_progressive": 10, "present": 16},
    "sight": {"past": 64, "future": 24, "present": 12},
    "state": {"present": 55, "past": 45},
}
POLARITIES: dict[Polarity, int] = {"yes": 60, "n't": 18, "not": 10, "never": 12}
NEGATIONS: dict[Polarity, int] = {"n't": 55, "not": 33, "never": 12}
DAILY = frozenset(  # events that can be habits
    {"cross", "leave", "enter", "eat", "drink", "read", "sleep", "sing", "play", "run", "bark", "go"}
)
ONLY_PAST = frozenset({"fall", "lose"})  # never planned
UNDER_WAY: tuple[Tense, ...] = ("progressive", "past_progressive")

TIMES: dict[Tense, tuple[tuple[str, str], ...]] = {
    "past": (("yesterday", "hier"), ("this morning", "ce matin")),
    "future": (("tomorrow", "demain"), ("tonight", "ce soir")),
    "present": (("every day", "tous les jours"),),
    "progressive": (("now", "maintenant"),),
    "past_progressive": (("yesterday", "hier"), ("this morning", "ce matin")),
}
DESCRIPTIVE = frozenset({"size", "age", "beauty", "color"})  # dimensions of adjectives that are never reasons
IN_FRONT = frozenset({"size", "age", "beauty"})  # dimensions whose adjective comes first in English


def one_of(rng: random.Random, weights: dict[T, int]) -> T:
    """Draw a key with the given relative frequencies: `rng.choices` for one draw, in a third of its time."""
    left = rng.random() * sum(weights.values())
    for key, weight in weights.items():
        left -= weight
        if left < 0:
            return key
    return key


def choose_noun(rng: random.Random, names: Sequence[str]) -> Noun:
    """Draw a noun; wherever both genders are possible, they are equally frequent."""
    return rng.choice(rng.choice(_by_gender(tuple(names))))


@cache
def _by_gender(names: tuple[str, ...]) -> tuple[tuple[Noun, ...], ...]:
    nouns = [NOUNS[name] for name in names]
    genders = (tuple(noun for noun in nouns if noun.gender == gender) for gender in ("m", "f"))
    return tuple(members for members in genders if members)


def has_plural(noun: Noun) -> bool:
    """Return True if a noun is countable; bread and water are not."""
    return noun.english_plural != "-"


def fits(quality: str, noun: Noun) -> bool:
    """Return True if a noun can have a quality."""
    return noun.english in FITS[quality]


def can_be_said(quality: str, nominal: Nominal) -> bool:
    """Return True if a quality fits a noun, or each of two, and does not contradict its adjectives."""
    if isinstance(nominal, NounPhrase):
        return fits(quality, nominal.noun) and all(go_together(quality, each.english) for each in nominal.adjectives)
    return all(fits(quality, NOUNS[name]) for name in nouns_of(nominal))


def choose_adjectives(
    rng: random.Random, noun: Noun, likely: float, *, besides: Iterable[str] = (), descriptive: bool = False
) -> tuple[Adjective, ...]:
    """Draw no adjective, one, or two: one of size, age or beauty first, then another.

    Args:
        rng: the random generator.
        noun: with the adjectives.
        likely: probability of any adjective, in [0, 1].
        besides: qualities elsewhere in the sentence, which must not be contradicted.
        descriptive: no adjective that could be a reason for anything.
    """
    if rng.random() >= likely:
        return ()
    possible = [
        quality
        for quality in _adjectives_of(noun, descriptive)
        if all(go_together(quality, other) for other in besides)
    ]
    front = [quality for quality in possible if DIMENSION[quality] in IN_FRONT]
    after = [quality for quality in possible if ADJECTIVES[quality].position == "after"]
    if front and after and rng.random() < 0.2:
        first, second = rng.choice(front), rng.choice(after)
        if first != "pretty" and go_together(first, second):  # "pretty cold" means something else
            return ADJECTIVES[first], ADJECTIVES[second]
    return (ADJECTIVES[rng.choice(possible)],) if possible else ()


@cache
def _adjectives_of(noun: Noun, descriptive: bool) -> tuple[str, ...]:
    fitting = (quality for quality in ADJECTIVES if fits(quality, noun))
    return tuple(quality for quality in fitting if DIMENSION[quality] in DESCRIPTIVE or not descriptive)


def choose_subject(
    rng: random.Random,
    names: Sequence[str],
    *,
    adjectives: float = 0.25,
    descriptive: bool = False,
    known: bool = False,
) -> Nominal:
    """Draw a subject: "the old dog", "two girls", "the king and the queen"; `known`: never "a dog", "two dogs"."""
    noun = choose_noun(rng, names)
    if rng.random() < 0.08 and noun.english != "animal":
        others = [name for name in names if NOUNS[name].kind == noun.kind and name not in (noun.english, "animal")]
        if others:
            return Both(NounPhrase(noun), NounPhrase(choose_noun(rng, others)))
    plural = rng.random() < 0.27
    weights: dict[Determiner, int] = {"the": 76, "this": 12}
    if not known:
        weights |= {"two": 7, "three": 7} if plural else {"a": 12}
    chosen = choose_adjectives(rng, noun, adjectives, descriptive=descriptive)
    return NounPhrase(noun, plural, one_of(rng, weights), chosen)


def choose_object(
    rng: random.Random,
    names: Sequence[str],
    *,
    subject: Nominal,
    negated: bool = False,
    definite: bool = False,
    owned: bool = True,
    adjectives: tuple[Adjective, ...] | None = None,
) -> NounPhrase:
    """Draw an object.

    `definite`: something known, that a pronoun can then stand for. `owned`: it may be theirs.
    """
    noun = choose_noun(rng, [name for name in names if name not in nouns_of(subject)])
    plural = has_plural(noun) and rng.random() < 0.27
    weights: dict[Determiner, int] = {"the": 60, "this": 10}
    if owned and subject.kind == "person" and noun.english in GROUPS["belongings"]:
        weights[possessive(subject)] = 25
    if not definite and (plural or not has_plural(noun)):
        weights["any" if negated else "some"] = 25
    elif not definite:
        weights["a"] = 30
    if not definite and plural and not negated:
        weights |= {"two": 6, "three": 6}
    if adjectives is None:
        adjectives = choose_adjectives(rng, noun, 0.25)
    return NounPhrase(noun, plural, one_of(rng, weights), adjectives)


def possessive(owner: Nominal) -> Determiner:
    """Return "his", "her" or "their"."""
    return "their" if owner.plural else "his" if owner.gender == "m" else "her"


def nouns_of(nominal: Nominal) -> tuple[str, ...]:
    """Return the English nouns of a subject or an object; those of the antecedent for a pronoun."""
    if isinstance(nominal, NounPhrase):
        return (nominal.noun.english,)
    if isinstance(nominal, Both):
        return nominal.first.noun.english, nominal.second.noun.english
    return nouns_of(nominal.antecedent)


def choose_polarity(rng: random.Random, tense: Tense, *, negative: bool | None = None) -> Polarity:
    """Draw yes or a kind of negation; `negative` determines which of the two."""
    if negative is False:
        return "yes"
    polarity = one_of(rng, NEGATIONS if negative else POLARITIES)
    return "n't" if polarity == "never" and tense in UNDER_WAY else polarity


def choose_tense(rng: random.Random, verb: Verb) -> Tense:
    """Draw a tense that suits the verb."""
    tense = one_of(rng, TENSES[verb.aspect])
    if verb.base in ONLY_PAST or (tense == "present" and verb.aspect == "event" and verb.base not in DAILY):
        return "past"
    return "past" if tense == "present" and verb.base == "find" else tense


def choose_polarity_of_state(rng: random.Random, quality: str, *, negative: bool | None = None) -> Polarity:
    """Draw yes or a kind of negation; nothing is "never old" or "never red"."""
    polarity = choose_polarity(rng, "present", negative=negative)
    return "n't" if polarity == "never" and DIMENSION[quality] not in PASSING else polarity


def is_readable(verb: Verb, tense: Tense, polarity: Polarity, plural: bool) -> bool:
    """Return True if English shows the tense: "the girls read" is both present and past, and only used as past."""
    return not (verb.past == verb.base and plural and tense == "present" and polarity in ("yes", "never"))


def choose_time(rng: random.Random, tense: Tense) -> Time:
    """Draw an expression of time that suits the tense."""
    english, french = rng.choice(TIMES[tense])
    return Time(english, french, choose_front(rng))


def choose_front(rng: random.Random) -> Front:
    """Draw the position of a time: before the clause, without or with a comma, or after it."""
    return one_of(rng, {"plain": 36, "comma": 36, "": 28})


def choose_location(rng: random.Random) -> Location:
    """Draw a location."""
    where = rng.choice(LOCATIONS)
    return Location(where.english, where.french, NounPhrase(choose_noun(rng, where.places)))


def quality_named(name: str) -> Adjective | Sensation:
    """Return a quality by its name: an adjective, or a sensation such as hunger."""
    return SENSATIONS[name] if name in SENSATIONS else ADJECTIVES[name]


def choose_state(rng: random.Random, name: str, *, too: int, very: int) -> State:
    """Return a quality as a state, without degree, with "too" or with "very"; `too` and `very` are in per cent."""
    if name in NEVER_GRADED:
        return State(quality_named(name))
    draw = rng.randrange(100)
    if draw < too:
        return State(quality_named(name), "very" if name in NEVER_TOO else "too")
    return State(quality_named(name), "very" if draw < too + very else "")
