"""What must hold for the alignment of every English-French pair, whatever it says."""

from collections.abc import Iterator

import pytest

import transformer_core as tc
from grammars.en_fr.lexicon import NOUNS, Noun
from transformer_core.corpora import Corpus, Pair
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
    assert n_nouns > len(en_fr.held_out)


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
    assert n_pronouns > len(en_fr.held_out) / 3
