"""Sentences with a relative clause: of the subject, of the object, and one whose gap is the object."""

import random
from dataclasses import replace

from transformer_core.corpora.grammars.en_fr.choices import (
    choose_adjectives,
    choose_noun,
    choose_polarity,
    choose_polarity_of_state,
    choose_state,
    choose_subject,
    fits,
    has_plural,
    nouns_of,
)
from transformer_core.corpora.grammars.en_fr.clauses import ONLY_BESIDE_NOUN, act
from transformer_core.corpora.grammars.en_fr.deeds import DEEDS
from transformer_core.corpora.grammars.en_fr.phrases import (
    Action,
    Clause,
    Gap,
    NounPhrase,
    Sentence,
    Tense,
)
from transformer_core.corpora.grammars.en_fr.qualities import FITS, GROUPS, go_together
from transformer_core.corpora.grammars.en_fr.verbs import VERBS

CREATURES = GROUPS["all"]


def relative_subject(rng: random.Random) -> Sentence:
    """The dog that crossed the street was hungry."""
    subject, tense, clause = modified(rng)
    quality = choose_quality(rng, subject)
    main = choose_state(rng, quality, too=5, very=30)
    polarity = choose_polarity_of_state(rng, quality, negative=rng.random() < 0.2)
    return Sentence("relative", (Clause(replace(subject, relative=clause), main, tense, polarity),))


def relative_of_object(rng: random.Random) -> Sentence:
    """The girl saw the dog that was sleeping in the garden."""
    phrase, tense, clause = modified(rng)
    verb = VERBS[rng.choice(("see", "follow", "watch"))]
    others = [name for name in CREATURES if name not in nouns_of(phrase)]
    main_tense: Tense = "past" if tense == "past" else "future"
    polarity = choose_polarity(rng, main_tense, negative=rng.random() < 0.2)
    subject = choose_subject(rng, others, adjectives=0.1)
    return Sentence(
        "relative", (Clause(subject, Action(verb, replace(phrase, relative=clause)), main_tense, polarity),)
    )


def modified(rng: random.Random) -> tuple[NounPhrase, Tense, Clause]:
    """Draw somebody, and what they do as a relative clause; the tense is that of the sentence: past or present."""
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


def choose_quality(rng: random.Random, phrase: NounPhrase) -> str:
    """Draw a quality that fits a noun and does not contradict its adjectives."""
    used = [adjective.english for adjective in phrase.adjectives]
    fitting = [name for name in FITS if fits(name, phrase.noun) and name not in ONLY_BESIDE_NOUN]
    return rng.choice([name for name in fitting if all(go_together(name, other) for other in used)])


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
