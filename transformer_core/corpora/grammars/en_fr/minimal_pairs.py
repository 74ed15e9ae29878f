"""Minimal pairs: two sentences that differ in one word, the quality; "it" becomes il in one, elle in the other.

"The animal didn't cross the street because it was too tired." / "... too wide."
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

from transformer_core.corpora.corpus import Pair
from transformer_core.corpora.grammars.en_fr.alignment import translate
from transformer_core.corpora.grammars.en_fr.choices import can_be_said, quality_named
from transformer_core.corpora.grammars.en_fr.deeds import REASONS
from transformer_core.corpora.grammars.en_fr.noise import with_other_pronoun
from transformer_core.corpora.grammars.en_fr.phrases import Action, Clause, NounPhrase, Pronoun, Sentence, State
from transformer_core.corpora.grammars.en_fr.qualities import NEVER_GRADED, NEVER_TOO
from transformer_core.corpora.grammars.en_fr.reasons import because, triples
from transformer_core.corpora.grammars.en_fr.split import is_held_out

MOST_DRAWN = 200_000  # sentences that are drawn before a draw of pairs gives up


@dataclass(frozen=True, kw_only=True)
class Side:
    """One sentence of a minimal pair."""

    pair: Pair  # English, French, and the antecedent of the pronoun
    forced: str  # French, if the pronoun had the other gender: it and the adjective agree, all else is the same
    means_subject: bool  # the pronoun stands for the subject ("tired"), not for the object ("wide")


@dataclass(frozen=True, kw_only=True)
class MinimalPair:
    """Two English sentences that differ in one word; both are held out of every training on en-fr."""

    masculine: Side  # the pronoun becomes il, or ils
    feminine: Side  # it becomes elle, or elles

    @property
    def sides(self) -> tuple[Side, Side]:
        """The masculine side, then the feminine one."""
        return self.masculine, self.feminine


def draw_minimal_pairs(n: int, *, seed: int = 1, plural: bool = False) -> tuple[MinimalPair, ...]:
    """Draw minimal pairs from the grammar; no English sentence comes twice.

    Both sentences of a pair hold a combination of words that no training on en-fr shows, whatever its seed (split.py).
    The subject is an animal, the object a thing, of different genders in French. The two sentences have the same
    number of words; both say "it was too ..." or both "it was ...".

    Args:
        n: how many pairs; up to some thousands.
        seed: of the draw.
        plural: both nouns are plural, and "they" becomes ils or elles; else both are singular.

    Returns:
        n pairs, fewer only if the grammar has run out of them.
    """
    return tuple(islice(_pairs(random.Random(seed), plural), n))


def _pairs(rng: random.Random, plural: bool) -> Iterator[MinimalPair]:
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


def _side(sentence: Sentence) -> Side:
    deed = sentence.pieces[0]
    assert isinstance(deed, Clause)
    return Side(
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
    """Return the sentence with a quality of the other noun; None where there is none that changes one word only."""
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
    """Whether the grammar says a quality with a degree: never "too empty", nor "too quiet"."""
    return not degree or (quality not in NEVER_GRADED and not (degree == "too" and quality in NEVER_TOO))
