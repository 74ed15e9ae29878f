"""Sentences with a relative clause: of the subject, of the object, and one whose gap is the object."""

import random
from collections.abc import Iterable
from dataclasses import replace

from grammars.en_fr.choices import (
    can_be_said,
    choose_adjectives,
    choose_noun,
    choose_polarity,
    choose_polarity_of_state,
    choose_state,
    choose_subject,
    has_plural,
    nouns_of,
)
from grammars.en_fr.clauses import ONLY_BESIDE_NOUN, act
from grammars.en_fr.deeds import DEEDS
from grammars.en_fr.phrases import (
    Action,
    Clause,
    Gap,
    Nominal,
    NounPhrase,
    Sentence,
    Tense,
)
from grammars.en_fr.qualities import FITS, GROUPS
from grammars.en_fr.verbs import VERBS

CREATURES = GROUPS["all"]
AT_WORK = frozenset({"cross", "leave", "enter", "eat", "drink", "see", "sleep", "play", "run", "go"})


def relative_subject(rng: random.Random) -> Sentence:
    """The dog that crossed the street was hungry."""
    subject, tense, clause = modified(rng)
    if rng.random() < 0.4:
        clause = seen_by(rng, subject)
    quality = choose_quality(rng, subject)
    main = choose_state(rng, quality, too=5, very=30)
    polarity = choose_polarity_of_state(rng, quality, negative=rng.random() < 0.2)
    return Sentence("relative", (Clause(replace(subject, relative=clause), main, tense, polarity),))


def relative_of_object(rng: random.Random) -> Sentence:
    """The girl saw the dog that was sleeping in the garden."""
    phrase, tense, clause = modified(rng)
    if rng.random() < 0.4:
        clause = seen_by(rng, phrase)
    verb = VERBS[rng.choice(WITNESSED)]
    others = [name for name in CREATURES if name not in nouns_of(phrase) + nouns_of(clause.subject)]
    main_tense: Tense = "past" if tense == "past" else "future"
    polarity = choose_polarity(rng, main_tense, negative=rng.random() < 0.2)
    subject = choose_subject(rng, others, adjectives=0.1)
    return Sentence(
        "relative", (Clause(subject, Action(verb, replace(phrase, relative=clause)), main_tense, polarity),)
    )


def modified(rng: random.Random) -> tuple[NounPhrase, Tense, Clause]:
    """Draw a noun phrase, the tense of the sentence (past or present), and a relative clause for the noun."""
    deed = rng.choice([deed for deed in DEEDS if deed.verb not in ("like", "live", "fall")])
    noun = choose_noun(rng, deed.subjects)
    phrase = NounPhrase(noun, rng.random() < 0.3, "the", choose_adjectives(rng, noun, 0.15, descriptive=True))
    tense: Tense = rng.choice(("past", "past", "present"))
    done: Tense = tense
    if VERBS[deed.verb].aspect == "event":
        done = rng.choice(("past", "past_progressive")) if tense == "past" else "progressive"
    elif tense == "present":
        tense = done = "past"
    return phrase, tense, act(rng, Gap(phrase), deed, done, choose_polarity(rng, done, negative=rng.random() < 0.15))


WITNESSED = (
    "see",
    "follow",
    "watch",
)  # in relative clauses about an object: "the fox that the girl saw"


def with_relative(
    rng: random.Random, subject: Nominal, *, likely: float = 0.14, besides: Iterable[str] = ()
) -> Nominal:
    """Sometimes add a relative clause to a subject: "the fox that the girl saw", "the dog that slept".

    Args:
        rng: the random generator.
        subject: of the main clause; two nouns joined by "and", and "a dog", stay unchanged.
        likely: probability, in [0, 1].
        besides: nouns elsewhere in the sentence, which are not repeated.
    """
    if not isinstance(subject, NounPhrase) or subject.determiner not in ("the", "this") or rng.random() >= likely:
        return subject
    if rng.random() < 0.65:
        return replace(subject, relative=seen_by(rng, subject, besides))
    deed = rng.choice([deed for deed in DEEDS if deed.verb in AT_WORK and subject.noun.english in deed.subjects])
    done: Tense = rng.choice(("past", "past_progressive")) if VERBS[deed.verb].aspect == "event" else "past"
    objects = tuple(name for name in deed.objects if name not in besides)
    return replace(subject, relative=act(rng, Gap(subject), replace(deed, objects=objects), done))


def seen_by(rng: random.Random, phrase: NounPhrase, besides: Iterable[str] = ()) -> Clause:
    """Draw a relative clause whose gap is the object: "(the fox) that the old king followed"."""
    verb = VERBS[rng.choice(WITNESSED)]
    who = choose_subject(
        rng, [name for name in CREATURES if name not in (phrase.noun.english, *besides)], adjectives=0.1
    )
    tense: Tense = "past_progressive" if verb.aspect == "event" and rng.random() < 0.3 else "past"
    return Clause(who, Action(verb, Gap(phrase)), tense, choose_polarity(rng, tense, negative=rng.random() < 0.1))


def choose_quality(rng: random.Random, phrase: NounPhrase) -> str:
    """Draw a quality that fits a noun and does not contradict its adjectives."""
    return rng.choice([name for name in FITS if can_be_said(name, phrase) and name not in ONLY_BESIDE_NOUN])


def relative_object(rng: random.Random) -> Sentence:
    """The letter that the queen wrote was very long."""
    deed = rng.choice([d for d in DEEDS if d.verb in ("buy", "read", "write", "carry", "open", "lose", "find")])
    noun = choose_noun(rng, deed.objects)
    plural = has_plural(noun) and rng.random() < 0.35
    phrase = NounPhrase(noun, plural, "the", choose_adjectives(rng, noun, 0.15, descriptive=True))
    who = choose_subject(rng, [name for name in deed.subjects if name != noun.english], adjectives=0.1)
    quality = choose_quality(rng, phrase)
    tense: Tense = rng.choice(("past", "past", "present"))
    clause = Clause(who, Action(VERBS[deed.verb], Gap(phrase)), "past")
    main = choose_state(rng, quality, too=5, very=30)
    polarity = choose_polarity_of_state(rng, quality, negative=rng.random() < 0.2)
    return Sentence("relative", (Clause(replace(phrase, relative=clause), main, tense, polarity),))
