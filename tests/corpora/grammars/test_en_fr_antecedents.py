"""What each English pronoun stands for: against sentences marked by hand, and by what must hold for all."""

import re

import pytest

from transformer_core.corpora.corpus import Corpus, Pair
from transformer_core.corpora.grammars.en_fr import translate
from transformer_core.corpora.grammars.en_fr.examples import EXAMPLES, deed, phrase, quality
from transformer_core.corpora.grammars.en_fr.lexicon import NOUNS
from transformer_core.corpora.grammars.en_fr.phrases import BECAUSE, Both, Pronoun, Sentence

KING, QUEEN, LETTERS = phrase("the king"), phrase("the queen"), phrase("the letter", plural=True)
BOTH = Both(KING, QUEEN)

# Each pronoun and what it stands for; "the2" would be the second "the".
BY_HAND = [
    *zip(
        EXAMPLES,
        ("it=animal", "it=street", "they=cows", "they=bridges", *[""] * 3, "it=box", "it=goat it2=apple", "it=dog"),
        strict=True,
    ),
    (
        Sentence("test", (deed(BOTH, "read", LETTERS, "past"), BECAUSE, quality(Pronoun(BOTH), "busy"))),
        "they=king they=queen",
    ),
    (
        Sentence("test", (deed(QUEEN, "read", LETTERS, "past"), BECAUSE, quality(Pronoun(QUEEN), "busy"))),
        "she=queen",
    ),
]


def words_of(source: str) -> list[str]:
    return re.findall(r"[\w']+|[.,]", source.lower())


@pytest.mark.parametrize(("sentence", "expected"), BY_HAND)
def test_they_are_those_by_hand(sentence: Sentence, expected: str):
    pair = translate(sentence)
    words = words_of(pair.source)
    names = [word + str(n) * (n > 1) for i, word in enumerate(words) for n in [words[: i + 1].count(word)]]
    assert " ".join(f"{names[pronoun]}={names[noun]}" for pronoun, noun in pair.antecedents or ()) == expected


def test_every_pronoun_of_the_corpus_has_nouns_of_its_number_and_of_the_gender_that_french_shows(en_fr: Corpus):
    """The gender is the lexicon's; only noise, which is in training alone, shows the other one."""
    genders = {form: noun.gender for noun in NOUNS.values() for form in (noun.english, noun.english_plural)}
    plurals = {noun.english_plural for noun in NOUNS.values()} - {noun.english for noun in NOUNS.values()}
    n_judged = 0
    for pair in en_fr.held_out:
        assert isinstance(pair, Pair) and pair.antecedents is not None
        words = words_of(pair.source)
        pronouns = [place for place, word in enumerate(words) if word in ("it", "he", "she", "they", "them")]
        assert sorted({pronoun for pronoun, _ in pair.antecedents}) == pronouns, pair.source
        for pronoun in pronouns:
            nouns = [words[noun] for one, noun in pair.antecedents if one == pronoun]
            is_many = len(nouns) > 1 or nouns[0] in plurals
            assert is_many or words[pronoun] not in ("they", "them"), pair.source
            assert not (is_many and words[pronoun] in ("it", "he", "she")), pair.source
            french = re.search(r"\bparce qu'(ils?|elles?)\b", pair.target)
            if french and pronoun > words.index("because"):
                gender = "f" if all(genders[noun] == "f" for noun in nouns) else "m"
                assert (french[1].startswith("elle"), french[1].endswith("s")) == (gender == "f", is_many), pair.source
                n_judged += 1
    assert n_judged > len(en_fr.held_out) / 5
