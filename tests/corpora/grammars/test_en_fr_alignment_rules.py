"""What must hold for the alignment of every English-French pair, whatever it says."""

import random
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest

import transformer_core as tc
from transformer_core.corpora import Corpus, Pair
from transformer_core.corpora.grammars.en_fr import translate
from transformer_core.corpora.grammars.en_fr.alignment import align
from transformer_core.corpora.grammars.en_fr.french import render_sentence
from transformer_core.corpora.grammars.en_fr.lexicon import NOUNS, Noun, opens_with_vowel
from transformer_core.corpora.grammars.en_fr.phrases import (
    Action,
    Both,
    Clause,
    Existence,
    Location,
    NounPhrase,
    Pronoun,
)
from transformer_core.corpora.grammars.en_fr.qualities import FITS
from transformer_core.corpora.grammars.en_fr.sentences import draw_sentence
from transformer_core.text.tokenizer import Tokenizer


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return tc.train_tokenizer(["any text: only how it cuts matters here"], kind="word")


def cut(tokenizer: Tokenizer, text: str) -> list[str]:
    return [piece.lower() for piece in tokenizer.pieces(text)]


def test_every_french_word_depends_on_some_english_ones(en_fr: Corpus, tokenizer: Tokenizer) -> None:
    for pair in en_fr.held_out:
        n_source = len(tokenizer.encode(pair.source))
        assert len(pair.alignment) == len(tokenizer.encode(pair.target)), pair
        for sources in pair.alignment:
            assert sources and list(sources) == sorted(set(sources)), pair
            assert sources[0] >= 0 and sources[-1] < n_source, pair


FORMS: dict[str, list[Noun]] = {}  # English form: the noun
FRENCH_FORMS: dict[str, set[str]] = {}  # French form: English forms of the nouns that have it
for _noun in NOUNS.values():
    for _english, _french in ((_noun.english, _noun.french), (_noun.english_plural, _noun.french_plural)):
        FORMS.setdefault(_english, []).append(_noun)
        FRENCH_FORMS.setdefault(_french, set()).add(_english)
PRONOUNS = {"il": ("m", False), "elle": ("f", False), "ils": ("m", True), "elles": ("f", True)}


def aligned(en_fr: Corpus, tokenizer: Tokenizer) -> Iterator[tuple[Pair, str, list[str]]]:
    """Each French word of what is held out, and the English words it is aligned with."""
    for pair in en_fr.held_out:
        english, french = cut(tokenizer, pair.source), cut(tokenizer, pair.target)
        for word, sources in zip(french, pair.alignment, strict=True):
            yield pair, word, [english[i] for i in sources]


def test_a_noun_depends_on_its_own_noun_alone(en_fr: Corpus, tokenizer: Tokenizer) -> None:
    n_nouns = 0
    for pair, word, sources in aligned(en_fr, tokenizer):
        if word in FRENCH_FORMS and word != "porte":  # "porte": a verb too
            assert len(sources) == 1 and sources[0] in FRENCH_FORMS[word], pair
            n_nouns += 1
    assert n_nouns > 3_000


def test_a_pronoun_depends_on_the_english_one_and_on_a_noun_of_its_gender_and_number(
    en_fr: Corpus, tokenizer: Tokenizer
) -> None:
    n_pronouns = 0
    for pair, word, sources in aligned(en_fr, tokenizer):
        if word not in PRONOUNS or "there" in sources:  # il y a
            continue
        gender, plural = PRONOUNS[word]
        pronouns = [source for source in sources if source not in FORMS]
        nouns = [FORMS[source][0] for source in sources if source in FORMS]
        assert pronouns in (["they"],) if plural else pronouns in (["it"], ["he"], ["she"]), pair
        assert len(nouns) in (1, 2) and len(sources) == 1 + len(nouns), pair
        assert ("f" if {noun.gender for noun in nouns} == {"f"} else "m") == gender, pair
        n_pronouns += 1
    assert n_pronouns > 1_000


def test_what_is_said_of_a_pronoun_goes_with_the_noun_that_it_is_aligned_with(
    en_fr: Corpus, tokenizer: Tokenizer
) -> None:
    """The animal is tired, the street is wide: the quality fits the antecedent in the grammar's own tables."""
    n_checked = 0
    for pair in en_fr.held_out:
        if not re.search(r" because (it|they) (was|were|is|are) (too |very )?\w+\.$", pair.source):
            continue
        english, french = cut(tokenizer, pair.source), cut(tokenizer, pair.target)
        place = max(i for i, word in enumerate(french) if word in PRONOUNS)
        nouns = [FORMS[english[i]][0].english for i in pair.alignment[place] if english[i] in FORMS]
        assert all(noun in FITS[english[-2]] for noun in nouns), pair
        n_checked += 1
    assert n_checked > 300


def nouns_in(record: Any) -> Iterator[Noun]:
    if isinstance(record, Noun):
        yield record
    elif is_dataclass(record):
        for field in fields(record):
            yield from nouns_in(getattr(record, field.name))
    elif isinstance(record, tuple):
        for item in record:
            yield from nouns_in(item)


def exchanged(record: Any, old: Noun, new: Noun, done: dict[int, Any]) -> Any:
    """A copy of a record with another noun; what was one object is one object again."""
    if record is old:
        return new
    if isinstance(record, tuple):
        return tuple(exchanged(item, old, new, done) for item in record)
    if not isinstance(record, (NounPhrase, Both, Pronoun, Location, Action, Clause, Existence)):
        return record
    if id(record) not in done:
        values = {field.name: exchanged(getattr(record, field.name), old, new, done) for field in fields(record)}
        done[id(record)] = type(record)(**values)
    return done[id(record)]


def test_whatever_changes_with_a_noun_is_aligned_with_it_or_its_pronoun(tokenizer: Tokenizer) -> None:
    """With a noun of the other gender, each French word that changes depends on an English one that changes."""
    rng = random.Random(11)
    n_changed = 0
    for _ in range(120):
        sentence = draw_sentence(rng)
        old = rng.choice(list(nouns_in(sentence.pieces)))
        others = [
            noun
            for noun in NOUNS.values()
            if noun.gender != old.gender
            and (noun.kind == "person") == (old.kind == "person")
            and opens_with_vowel(noun.french) == opens_with_vowel(old.french)
            and noun not in set(nouns_in(sentence.pieces))
        ]
        if not others:
            continue
        other = replace(sentence, pieces=exchanged(sentence.pieces, old, rng.choice(others), {}))
        if "-" in translate(other).source:
            continue  # the plural of what cannot be counted
        english, changed_english = (cut(tokenizer, translate(each).source) for each in (sentence, other))
        french, changed_french = ([word for word, _ in render_sentence(each)] for each in (sentence, other))
        if len(french) != len(changed_french):
            continue  # "de la", "du"
        new_places = {i for i, words in enumerate(zip(english, changed_english, strict=True)) if len(set(words)) > 1}
        for place, words in enumerate(zip(french, changed_french, strict=True)):
            if words[0] != words[1] and "s'" not in words:  # what only elides ("s'il", "si elle") is not counted
                assert new_places & set(align(sentence)[place]), (english, words)
                n_changed += 1
    assert n_changed > 150
