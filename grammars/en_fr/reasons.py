"""Sentences with a reason: the quality determines the antecedent of the pronoun, and so its gender in French."""

import random
from dataclasses import replace

from grammars.en_fr.choices import (
    DAILY,
    can_be_said,
    choose_adjectives,
    choose_noun,
    choose_object,
    choose_polarity,
    choose_state,
    choose_subject,
    choose_tense,
    fits,
    is_readable,
    nouns_of,
    one_of,
    quality_named,
)
from grammars.en_fr.deeds import REASONS, Reason
from grammars.en_fr.phrases import (
    BECAUSE,
    SO,
    Action,
    Clause,
    Nominal,
    NounPhrase,
    Pronoun,
    Sentence,
    State,
    Tense,
)
from grammars.en_fr.relatives import with_relative
from grammars.en_fr.verbs import VERBS, Verb

REASON_WEIGHTS = {i: 5 if reason.verb == "cross" and not reason.done else 1 for i, reason in enumerate(REASONS)}
WITH_PRONOUN = frozenset({"cross", "carry", "eat", "drink", "buy", "read"})  # "didn't cross it"
REASON_TENSES: dict[tuple[Tense, Tense], int] = {  # of the deed, of its reason
    ("past", "past"): 56,
    ("progressive", "present"): 18,
    ("future", "present"): 14,
    ("past_progressive", "past"): 6,
    ("present", "present"): 6,
}
SO_TENSES: dict[tuple[Tense, Tense], int] = {("past", "past"): 67, ("future", "present"): 33}


def because(rng: random.Random) -> Sentence:
    """The animal didn't cross the street because it was too tired; because it was too wide."""
    reason, subject, target, quality, referent = draw_reason(rng)
    modal = choose_modal(rng, reason.done)
    tense, reason_tense = one_of(rng, REASON_TENSES)
    if modal:
        tense = reason_tense = choose_tense(rng, modal)
    elif tense == "present" and (reason.done or reason.verb not in DAILY):  # "never crosses" is a habit
        tense = reason_tense = "past"
    polarity = choose_polarity(rng, tense, negative=not reason.done)
    if tense == "present" and not modal:
        polarity = "never"
    elif polarity == "never" and (modal is VERBS["can"] or reason.verb == "buy"):
        polarity = "not"
    deed = Clause(subject, Action(VERBS[reason.verb], target, modal=modal), tense, polarity)
    if not is_readable(modal or VERBS[reason.verb], tense, polarity, subject.plural):
        return because(rng)
    why = explain(rng, Pronoun(referent), quality, reason_tense, reason.done)
    return Sentence("because", (deed, BECAUSE, why), triples(subject, target, quality))


def so(rng: random.Random) -> Sentence:
    """The street was too wide, so the animal didn't cross it."""
    reason, subject, target, quality, referent = draw_reason(rng)
    if reason.verb not in WITH_PRONOUN:
        return so(rng)
    if target.determiner in ("his", "her", "their") and referent is target:  # the owner is not named yet
        target = referent = replace(target, determiner="the")
    tense, reason_tense = one_of(rng, SO_TENSES)
    why = explain(rng, referent, quality, reason_tense, reason.done)
    polarity = choose_polarity(rng, tense, negative=not reason.done)
    if referent is subject:
        deed = Clause(Pronoun(subject), Action(VERBS[reason.verb], target), tense, polarity)
    else:
        deed = Clause(subject, Action(VERBS[reason.verb], Pronoun(target)), tense, polarity)
    return Sentence("so", (why, SO, deed), triples(subject, target, quality))


def draw_reason(rng: random.Random) -> tuple[Reason, Nominal, NounPhrase, str, Nominal]:
    """Draw a reason, subject, object and quality, and which of the two has the quality.

    Who and what are drawn before it is decided which of them the quality belongs to: they tell nothing about it.
    """
    reason = REASONS[one_of(rng, REASON_WEIGHTS)]
    noun = choose_noun(rng, reason.objects)
    who = choose_subject(rng, reason.subjects, adjectives=0.2, descriptive=True, known=True)
    subject = with_relative(rng, who, besides=(noun.english,))
    of_object = rng.random() < 0.5
    if of_object:
        quality = rng.choice([name for name in reason.object_qualities if fits(name, noun)])
    else:
        fitting = [name for name in reason.subject_qualities if can_be_said(name.removeprefix("not_"), subject)]
        quality = rng.choice(fitting)
    adjectives = choose_adjectives(rng, noun, 0.2, besides=(quality,) if of_object else (), descriptive=True)
    target = choose_object(
        rng, (noun.english,), subject=subject, definite=True, owned=reason.verb != "buy", adjectives=adjectives
    )
    return reason, subject, target, quality, target if of_object else subject


def explain(rng: random.Random, referent: Nominal, quality: str, tense: Tense, done: bool) -> Clause:
    """It was too tired; it was very curious; it was not hungry."""
    if quality.startswith("not_"):
        state = State(quality_named(quality.removeprefix("not_")))
        return Clause(referent, state, tense, rng.choice(("n't", "not")))
    return Clause(referent, choose_state(rng, quality, too=0 if done else 60, very=45 if done else 12), tense)


def triples(subject: Nominal, target: NounPhrase, quality: str) -> tuple[tuple[str, str, str], ...]:
    """Return (subject, object, quality) of a reason, for each of the subjects."""
    return tuple((who, target.noun.english, quality.removeprefix("not_")) for who in nouns_of(subject))


def choose_modal(rng: random.Random, done: bool) -> Verb | None:
    """Sometimes add "wants to" or, under negation, "can't"."""
    draw = rng.random()
    if draw < 0.1:
        return VERBS["want"]
    return VERBS["can"] if draw < 0.2 and not done else None
