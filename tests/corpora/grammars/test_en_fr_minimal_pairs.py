"""Minimal pairs: judged by their texts alone, as a reader would, and looked up in what training shows."""

import re

import pytest

from transformer_core.corpora import Corpus
from transformer_core.corpora.grammars.en_fr.lexicon import ADJECTIVES, NOUNS, SENSATIONS
from transformer_core.corpora.grammars.en_fr.minimal_pairs import MinimalPair, Side, draw_minimal_pairs

PRONOUN = {"m": "il", "f": "elle"}
REASON = re.compile(r"(.* parce qu')(il|elle) (.*)\.$")


@pytest.fixture(scope="module")
def pairs() -> tuple[MinimalPair, ...]:
    return draw_minimal_pairs(60)


def words(text: str) -> list[str]:
    return text.removesuffix(".").split()


def antecedent(side: Side) -> str:
    """The English noun that the record names for "it"."""
    source = words(side.pair.source)
    assert side.pair.antecedents is not None
    ((pronoun, noun),) = side.pair.antecedents
    assert source[pronoun] == "it"
    return source[noun]


def test_the_pronoun_has_the_gender_of_a_noun_of_the_sentence_and_the_sides_name_different_ones(
    pairs: tuple[MinimalPair, ...],
):
    for pair in pairs:
        genders = [NOUNS[antecedent(side)].gender for side in pair.sides]
        assert genders == ["m", "f"]
        masculine, feminine = (words(side.pair.source) for side in pair.sides)
        assert masculine[:-1] == feminine[:-1] and masculine[-1] != feminine[-1]
        kinds = [NOUNS[antecedent(side)].kind for side in pair.sides]
        assert sorted(kinds) == ["animal", "thing"]
        assert [side.means_subject for side in pair.sides] == [kind == "animal" for kind in kinds]
        for side, pronoun in zip(pair.sides, ("il", "elle"), strict=True):
            match = REASON.fullmatch(side.pair.target)
            assert match is not None
            assert match[2] == pronoun


def test_the_forced_translation_has_the_other_pronoun_and_an_adjective_that_agrees(pairs: tuple[MinimalPair, ...]):
    n_changed = 0
    for pair in pairs:
        for side, gender, other in zip(pair.sides, "mf", "fm", strict=True):
            right, forced = REASON.fullmatch(side.pair.target), REASON.fullmatch(side.forced)
            assert right is not None
            assert forced is not None
            assert right[1] == forced[1]
            assert forced[2] == PRONOUN[other]
            quality = words(side.pair.source)[-1]
            if quality in SENSATIONS:
                assert right[3] == forced[3]
                continue
            adjective = ADJECTIVES[quality]
            forms = {"m": adjective.masculine, "f": adjective.feminine}
            assert right[3].removesuffix(forms[gender]) == forced[3].removesuffix(forms[other])
            n_changed += right[3] != forced[3]
    assert n_changed > 30


def test_no_sentence_comes_twice_and_a_seed_gives_the_same_pairs(pairs: tuple[MinimalPair, ...]):
    sources = [side.pair.source for pair in pairs for side in pair.sides]
    assert len(set(sources)) == 2 * len(pairs) == 120
    assert any(" too " in source for source in sources) and any(" too " not in source for source in sources)
    assert draw_minimal_pairs(5) == pairs[:5]
    assert draw_minimal_pairs(5, seed=2) != pairs[:5]


def test_the_plural_says_they_ils_and_elles():
    plurals = {noun.english_plural: noun for noun in NOUNS.values()}
    for pair in draw_minimal_pairs(10, plural=True):
        for side, gender, pronoun in zip(pair.sides, "mf", ("ils", "elles"), strict=True):
            source = words(side.pair.source)
            ((place, noun),) = side.pair.antecedents or ()
            assert source[place] == "they"
            assert plurals[source[noun]].gender == gender
            assert f" parce qu'{pronoun} " in side.pair.target
        assert words(pair.masculine.pair.source)[:-1] == words(pair.feminine.pair.source)[:-1]


def test_no_training_sentence_is_among_them(en_fr: Corpus, pairs: tuple[MinimalPair, ...]):
    trained = {pair.source for pair in en_fr.train}
    assert any("because it was too" in source for source in trained), "else this test compares nothing"
    assert not trained & {side.pair.source for pair in pairs for side in pair.sides}
