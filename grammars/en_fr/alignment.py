"""The English words that each French word truly depends on, read off the records that both sentences come from.

A noun, a quality, a link or a mark depends on its counterpart. In addition:

- An article depends on the English one and on its noun, for gender, number and elision; also on an adjective between
  the two, where it changes the article ("le petit animal", "l'animal"), and on a negation that makes it "de". A
  contraction ("du") depends on the preposition as well. "Deux" and "trois" depend only on the numeral.
- An adjective depends on the English one and on what it agrees with: the noun; or the pronoun, and the noun that it
  stands for.
- A pronoun depends on the English pronoun and on the noun, or the two nouns, that it stands for. The quality that
  determines this noun ("tired", "wide") does not count.
- A verb depends on all English words that express it ("did", "cross") and, if it is finite, on the number of its
  subject. A participle that agrees depends on what it agrees with, a future after "quand" on "when" and "will", "avoir"
  with a sensation ("avait faim") on the sensation.
- "Ne", "pas" and "jamais" depend on the negation; the words of "il y a" on "there", its verb also on "is".
- A preposition depends on the English one, or on the verb where English has none ("entered", "est entré dans").
- Except for articles, the cause of an elision ("n'a", "qu'elle", "s'il") does not count.

The records also contain the antecedent of each pronoun of the English sentence.
"""

from collections.abc import Sequence
from dataclasses import replace

from grammars.en_fr import english, french
from grammars.en_fr.phrases import NounPhrase, Pronoun, Sentence
from grammars.en_fr.words import Part, Word, nouns_of
from transformer_core.corpora.corpus import Alignment, Antecedents, Pair


def translate(sentence: Sentence) -> Pair:
    """Return a sentence in both languages, with the alignment of its words and the antecedents of its pronouns."""
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
    where = _Places(english_words)
    return tuple(tuple(sorted({place for part in parts for place in where.places(part)})) for _, parts in french_words)


def _antecedents(english_words: Sequence[Word]) -> Antecedents:
    """Return each pronoun of the English sentence with each noun that it stands for, as word indices."""
    where = _Places(english_words)
    return tuple(
        (pronoun, noun)
        for pronoun, (_, parts) in enumerate(english_words)
        for record, role in parts
        if isinstance(record, Pronoun) and role == "pronoun"
        for part in nouns_of(record.antecedent)
        for noun in where.places(part)
    )


class _Places:
    """The places of the English words that express each part of a record."""

    def __init__(self, words: Sequence[Word]) -> None:
        self._words = words
        self._places: dict[tuple[int, str], list[int]] = {}
        for place, (_, parts) in enumerate(words):
            for record, role in parts:
                self._places.setdefault((id(record), role), []).append(place)

    def places(self, part: Part) -> list[int]:
        """Return the places of a part, by the identity of its record, not by its words."""
        record, role = part
        if (id(record), role) not in self._places and isinstance(record, NounPhrase):
            record = self._in_sentence(record)  # a gap has its noun without the relative clause
        return self._places[id(record), role]

    def _in_sentence(self, phrase: NounPhrase) -> NounPhrase:
        """Return the first noun phrase of the sentence that equals this one except for relative clauses."""
        plain = replace(phrase, relative=None)
        return next(
            record
            for _, parts in self._words
            for record, role in parts
            if isinstance(record, NounPhrase) and role == "noun" and replace(record, relative=None) == plain
        )
