"""Minimal pairs: two sentences that differ in one word, the quality; "it" becomes il in one, elle in the other.

"The animal didn't cross the street because it was too tired." / "... too wide."
"""

import random
from collections.abc import Iterator
from dataclasses import replace

from grammars.en_fr.alignment import translate
from grammars.en_fr.choices import can_be_said, quality_named
from grammars.en_fr.deeds import REASONS
from grammars.en_fr.noise import with_other_pronoun
from grammars.en_fr.phrases import Action, Clause, NounPhrase, Pronoun, Sentence, State
from grammars.en_fr.qualities import NEVER_GRADED, NEVER_TOO
from grammars.en_fr.reasons import because, triples
from grammars.en_fr.split import is_held_out
from transformer_core.corpora.shipped.en_fr.minimal_pairs import MinimalPair, MinimalPairSentence

MOST_DRAWN = 200_000  # sentences, after which no more pairs are to be expected


def draw_minimal_pairs(*, seed: int, plural: bool) -> Iterator[MinimalPair]:
    """Yield minimal pairs until the grammar brings no more; no English sentence occurs twice.

    Both sentences of a pair hold a combination of words that training on en-fr never shows, whatever its seed
    (split.py). The subject is an animal, the object a thing, of different genders in French. The two sentences have the
    same number of words; both say "it was too ..." or both "it was ...".

    Args:
        seed: of the draw.
        plural: both nouns are plural, and "they" becomes ils or elles; else both are singular.
    """
    rng = random.Random(seed)
    drawn: set[str] = set()
    for _ in range(MOST_DRAWN):
        sentence = because(rng)
        other = _counterpart(rng, sentence, plural) if is_held_out(sentence) else None
        if other is None or not is_held_out(other):
            continue
        masculine, feminine = sorted((sentence, other), key=lambda one: _pronoun(one).gender == "f")
        pair = MinimalPair(masculine=_side(masculine), feminine=_side(feminine))
        sources = {side.pair.source for side in pair.sides}
        if not sources & drawn:
            drawn |= sources
            yield pair


def _side(sentence: Sentence) -> MinimalPairSentence:
    deed = sentence.pieces[0]
    assert isinstance(deed, Clause)
    return MinimalPairSentence(
        pair=translate(sentence),
        forced=translate(with_other_pronoun(sentence)).target,
        means_subject=_pronoun(sentence).antecedent is deed.subject,
    )


def _pronoun(sentence: Sentence) -> Pronoun:
    """Return the pronoun of "because it was ..."."""
    why = sentence.pieces[-1]
    assert isinstance(why, Clause) and isinstance(why.subject, Pronoun)
    return why.subject


def _counterpart(rng: random.Random, sentence: Sentence, plural: bool) -> Sentence | None:
    """Return the sentence with a quality of the other noun, or None if no quality changes only one word."""
    deed, link, why = sentence.pieces
    assert isinstance(deed, Clause) and isinstance(deed.predicate, Action)
    assert isinstance(why, Clause) and isinstance(why.predicate, State)
    subject, target = deed.subject, deed.predicate.object
    if not isinstance(subject, NounPhrase) or not isinstance(target, NounPhrase) or subject.kind != "animal":
        return None
    if {subject.plural, target.plural} != {plural} or subject.gender == target.gender or why.polarity != "yes":
        return None
    means_subject = _pronoun(sentence).antecedent is subject
    qualities = [
        quality
        for reason in REASONS
        if (reason.verb, reason.done) == (deed.predicate.verb.base, deed.polarity == "yes")
        and subject.noun.english in reason.subjects
        and target.noun.english in reason.objects
        for quality in (reason.object_qualities if means_subject else reason.subject_qualities)
        if can_be_said(quality.removeprefix("not_"), target if means_subject else subject)
    ]
    degree = why.predicate.degree
    qualities = [name for name in qualities if not name.startswith("not_") and _takes(name, degree)]
    if not qualities:
        return None
    quality = rng.choice(qualities)
    referent = target if means_subject else subject
    reason = replace(why, subject=Pronoun(referent), predicate=State(quality_named(quality), degree))
    return Sentence("because", (deed, link, reason), triples(subject, target, quality))


def _takes(quality: str, degree: str) -> bool:
    """Return True if a quality takes a degree: never "too empty", nor "too quiet"."""
    return not degree or (quality not in NEVER_GRADED and not (degree == "too" and quality in NEVER_TOO))
