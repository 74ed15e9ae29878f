"""Which English words each French word truly depends on, read off the record that both sentences come from.

A noun, a quality, a link or a mark depends on its counterpart. Beyond that:

- An article depends on the English one and on its noun, for gender, number and elision; also on an adjective between
  the two, where the article would be another without it ("le petit animal", "l'animal"), and on the negation that makes
  it "de". A contraction ("du") depends on the preposition as well. "Deux" and "trois" depend on the numeral alone.
- An adjective depends on the English one and on what it agrees with: the noun; or the pronoun, and the noun that it
  stands for.
- A pronoun depends on the English pronoun and on the noun, or the two nouns, that it stands for. What makes clear which
  noun that is (the quality: "tired", "wide") is not counted.
- A verb depends on all English words that say it ("did", "cross") and, if it is finite, on what tells its subject's
  number. A participle that agrees depends on what it agrees with, a future behind "quand" on "when" and "will", "avoir"
  with a sensation ("avait faim") on the sensation.
- "Ne", "pas" and "jamais" depend on the word that says no; the words of "il y a" on "there", its verb also on "is".
- A preposition depends on the English one, or on the verb where English has none ("entered", "est entré dans").
- Apart from articles, what makes a word elide ("n'a", "qu'elle", "s'il") is not counted.

Within the English sentence, the record tells as well which noun each pronoun stands for: its antecedents.
"""

from collections.abc import Sequence
from dataclasses import replace

from grammars.en_fr import english, french
from grammars.en_fr.phrases import NounPhrase, Pronoun, Sentence
from grammars.en_fr.words import Part, Word, nouns_of
from transformer_core.corpora.corpus import Alignment, Antecedents, Pair


def translate(sentence: Sentence) -> Pair:
    """Say a sentence in both languages, and note what depends on what: French words, and English pronouns."""
    english_words, french_words = english.render_sentence(sentence), french.render_sentence(sentence)
    return Pair(
        english.write(english_words),
        french.write(french_words),
        _aligned(english_words, french_words),
        _antecedents(english_words),
    )


def align(sentence: Sentence) -> Alignment:
    """Return, for each word or mark of the French sentence, those of the English one that it depends on."""
    return _aligned(english.render_sentence(sentence), french.render_sentence(sentence))


def _aligned(english_words: Sequence[Word], french_words: Sequence[Word]) -> Alignment:
    where_said = _WhereSaid(english_words)
    return tuple(
        tuple(sorted({place for part in parts for place in where_said.places(part)})) for _, parts in french_words
    )


def _antecedents(english_words: Sequence[Word]) -> Antecedents:
    """Return each pronoun of the English sentence with each noun that it stands for, as places of words."""
    where_said = _WhereSaid(english_words)
    return tuple(
        (pronoun, noun)
        for pronoun, (_, parts) in enumerate(english_words)
        for record, role in parts
        if isinstance(record, Pronoun) and role == "pronoun"
        for part in nouns_of(record.antecedent)
        for noun in where_said.places(part)
    )


class _WhereSaid:
    """The places of the English words that say each part of a sentence's record."""

    def __init__(self, words: Sequence[Word]) -> None:
        self._words = words
        self._places: dict[tuple[int, str], list[int]] = {}
        for place, (_, parts) in enumerate(words):
            for record, role in parts:
                self._places.setdefault((id(record), role), []).append(place)

    def places(self, part: Part) -> list[int]:
        """Return where a part is said, by the record that is meant, not by one that only has the same words."""
        record, role = part
        if (id(record), role) not in self._places and isinstance(record, NounPhrase):
            record = self._as_said(record)  # a gap knows its noun without the relative clause
        return self._places[id(record), role]

    def _as_said(self, phrase: NounPhrase) -> NounPhrase:
        """Return the first noun phrase said that is this one but for relative clauses."""
        plain = replace(phrase, relative=None)
        return next(
            record
            for _, parts in self._words
            for record, role in parts
            if isinstance(record, NounPhrase) and role == "noun" and replace(record, relative=None) == plain
        )
