"""Noise in the translations: in training only, little, and everything that agrees with the pronoun follows it."""

import random
import re
from collections.abc import Mapping

import pytest

from grammars.en_fr import translate
from grammars.en_fr.examples import EXAMPLES
from grammars.en_fr.lexicon import ADJECTIVES
from grammars.en_fr.noise import NOISE_SHARE, with_noise
from grammars.en_fr.sentences import draw_sentence

N = 3_000  # sentences that are drawn
OTHER = {"il": "elle", "elle": "il", "ils": "elles", "elles": "ils"}
REASON = re.compile(r"parce qu'(ils?|elles?) (.*)\.$")


def endings() -> Mapping[str, set[str]]:
    """Each French adjective, with all its forms of the other gender."""
    others: dict[str, set[str]] = {}
    for adjective in ADJECTIVES.values():
        for plural in (False, True):
            masculine, feminine = adjective.french("m", plural), adjective.french("f", plural)
            others.setdefault(masculine, set()).add(feminine)
            others.setdefault(feminine, set()).add(masculine)
    return others


@pytest.fixture(scope="module")
def noisy() -> list[tuple[str, str]]:
    """The French of training beside the correct one, where they differ."""
    rng = random.Random(0)
    drawn = [draw_sentence(rng) for _ in range(N)]
    both = [(translate(with_noise(sentence)).target, translate(sentence).target) for sentence in drawn]
    return [(wrong, right) for wrong, right in both if wrong != right]


def test_they_are_as_many_as_said_of_the_sentences_that_can_have_one(noisy: list[tuple[str, str]]):
    assert 0.5 * N * 0.25 / NOISE_SHARE < len(noisy) < 2 * N * 0.25 / NOISE_SHARE


def test_the_pronoun_is_the_other_one_and_what_agrees_follows(noisy: list[tuple[str, str]]):
    forms = endings()
    for wrong, right in noisy:
        written, meant = REASON.search(wrong), REASON.search(right)
        assert written is not None
        assert meant is not None
        assert wrong[: written.start()] == right[: meant.start()]
        assert written[1] == OTHER[meant[1]]
        for one, other in zip(written[2].split(), meant[2].split(), strict=True):
            assert one == other or one in forms[other], (wrong, right)
    assert sum(wrong.split()[-1] != right.split()[-1] for wrong, right in noisy) > len(noisy) / 4


def test_examples_are_right():
    assert all(with_noise(sentence) is sentence for sentence in EXAMPLES)
