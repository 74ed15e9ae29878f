"""Minimal pairs: judged by their texts alone, as a reader would, and looked up in what training shows."""

import re
from itertools import islice

import pytest

from grammars.en_fr.lexicon import ADJECTIVES, NOUNS, SENSATIONS
from grammars.en_fr.minimal_pairs import draw_minimal_pairs
from transformer_core.corpora import Corpus
from transformer_core.corpora.shipped.en_fr.minimal_pairs import MinimalPair

REASON = re.compile(r"(.* parce qu')(ils?|elles?) (.*)\.$")


def first_pairs(n: int, *, seed: int = 1, plural: bool = False) -> tuple[MinimalPair, ...]:
    return tuple(islice(draw_minimal_pairs(seed=seed, plural=plural), n))


@pytest.fixture(scope="module")
def pairs() -> tuple[MinimalPair, ...]:
    return first_pairs(60)


def words(text: str) -> list[str]:
    return text.removesuffix(".").split()


@pytest.mark.parametrize("plural", [False, True])
def test_the_sides_differ_in_one_word_and_their_pronouns_in_the_gender_of_the_noun_meant(plural: bool):
    nouns = {noun.english_plural if plural else noun.english: noun for noun in NOUNS.values()}
    for pair in first_pairs(20, plural=plural):
        masculine, feminine = (words(side.pair.source) for side in pair.sides)
        assert masculine[:-1] == feminine[:-1] and masculine[-1] != feminine[-1]
        meant = []
        for side, source in zip(pair.sides, (masculine, feminine), strict=True):
            ((pronoun, noun),) = side.pair.antecedents or ()
            assert source[pronoun] == ("they" if plural else "it")
            meant.append(nouns[source[noun]])
        assert [noun.gender for noun in meant] == ["m", "f"]
        assert sorted(noun.kind for noun in meant) == ["animal", "thing"]
        assert [side.means_subject for side in pair.sides] == [noun.kind == "animal" for noun in meant]
        for side, expected in zip(pair.sides, ("il", "elle"), strict=True):
            match = REASON.fullmatch(side.pair.target)
            assert match is not None and match[2] == expected + "s" * plural


def test_the_forced_translation_has_the_other_pronoun_and_an_adjective_that_agrees(pairs: tuple[MinimalPair, ...]):
    n_changed = 0
    for pair in pairs:
        for side, gender, other in zip(pair.sides, "mf", "fm", strict=True):
            right, forced = REASON.fullmatch(side.pair.target), REASON.fullmatch(side.forced)
            assert right is not None and forced is not None
            assert (right[1], {"m": "il", "f": "elle"}[other]) == (forced[1], forced[2])
            quality = words(side.pair.source)[-1]
            if quality in SENSATIONS:
                assert right[3] == forced[3]
                continue
            adjective = ADJECTIVES[quality]
            forms = {"m": adjective.masculine, "f": adjective.feminine}
            assert right[3].removesuffix(forms[gender]) == forced[3].removesuffix(forms[other])
            n_changed += right[3] != forced[3]
    assert n_changed > 30


def test_no_sentence_comes_twice_none_is_of_training_and_a_seed_gives_the_same_pairs(
    en_fr: Corpus, pairs: tuple[MinimalPair, ...]
):
    sources = {side.pair.source for pair in pairs for side in pair.sides}
    assert len(sources) == 2 * len(pairs) == 120
    trained = {pair.source for pair in en_fr.train}
    assert any("because it was too" in source for source in trained), "else this test compares nothing"
    assert not trained & sources
    assert first_pairs(5) == pairs[:5]
    assert first_pairs(5, seed=2) != pairs[:5]
