"""Trainings that go well and wrong for real, each for a reason that is known: the diagnosis names it."""

import random
from dataclasses import replace
from itertools import permutations, product
from typing import Any

import pytest

from tests.training.diagnosis.records import kinds
from tests.training.diagnosis.tiny_runs import not_shifted, trained
from transformer_core.corpora.corpus import Corpus, Pair, Text
from transformer_core.training.diagnosis import Evidence, diagnose

pytestmark = pytest.mark.training

LETTERS = "abcdefgh"


def corpus_of(items: list[Any], n_held_out: int, **changes: Any) -> Corpus:
    """Some items, drawn at random, are held out."""
    items = random.Random(0).sample(items, k=len(items))
    return Corpus(
        name="made-up",
        title="Made up",
        description="For a test.",
        train=tuple(items[n_held_out:]),
        held_out=tuple(items[:n_held_out]),
        examples=(),
        tokenizer_kind="word",
        **changes,
    )


@pytest.fixture(scope="module")
def turned() -> Corpus:
    """Three letters, to be said the other way round."""
    texts = [" ".join(letters) for letters in product(LETTERS, repeat=3)]
    return corpus_of([Pair(text, text[::-1].capitalize()) for text in texts], 64)


@pytest.fixture(scope="module")
def few_turned() -> Corpus:
    """The same, but hardly any to learn from."""
    texts = [" ".join(letters) for letters in permutations(LETTERS, 4)][::28]
    return corpus_of([Pair(text, text[::-1].capitalize()) for text in texts], 30)


@pytest.fixture(scope="module")
def unrelated() -> Corpus:
    """Targets that have nothing to do with their sources."""
    sources = [" ".join(letters) for letters in product(LETTERS, repeat=3)]
    draw = random.Random(0)
    return corpus_of([Pair(source, " ".join(draws(draw, 3)).capitalize()) for source in sources], 64)


@pytest.fixture(scope="module")
def random_letters() -> Corpus:
    """Texts of no rule, in which some letters are more frequent."""
    draw = random.Random(0)
    return corpus_of(
        [Text(text) for text in sorted({" ".join(draws(draw, draw.randint(4, 18))) for _ in range(400)})], 50
    )


def draws(draw: random.Random, n: int) -> list[str]:
    return draw.choices(LETTERS, weights=(8, 4, 2, 1, 1, 1, 1, 1), k=n)


@pytest.fixture(scope="module")
def two_back() -> Corpus:
    """Letters each of which is the successor of that two places before; the one before leaves four or so open."""
    texts = []
    for first, distance, length in product(range(12), range(3), range(8, 19)):
        numbers = [first, first + distance]
        while len(numbers) < length:
            numbers.append(numbers[-2] + 1)
        texts.append(Text(" ".join(chr(ord("a") + number % 12) for number in numbers)))
    return corpus_of(texts, 36, prompt_of=lambda text: text.text[:5])


@pytest.fixture(scope="module")
def healthy(turned: Corpus) -> Evidence:
    return trained(turned)


def test_a_healthy_training_of_pairs(healthy: Evidence):
    (found,) = diagnose(healthy)
    assert (found.kind, found.severity) == ("well", "fine")


def test_the_same_training_while_it_goes_on(healthy: Evidence):
    def until(step: int) -> list[str]:
        return kinds(replace(healthy, metrics=[line for line in healthy.metrics if line["step"] <= step], samples=()))

    assert until(0) == until(10) == ["too_early"]
    assert "undertrained" in until(60)


def test_a_healthy_training_with_smoothing(turned: Corpus):
    assert kinds(trained(turned, label_smoothing=0.1)) == ["well"]


def test_a_healthy_training_of_texts(two_back: Corpus):
    assert kinds(trained(two_back)) == ["well"]


@pytest.mark.parametrize("factor", [5.0, 12.0])
def test_a_learning_rate_far_too_high(turned: Corpus, factor: float):
    found = diagnose(trained(turned, learning_rate_factor=factor, steps=150))
    assert (found[0].kind, found[0].severity) == ("learning_rate_too_high", "problem")
    assert f"(now {factor:g})" in found[0].advice


def test_a_learning_rate_so_high_that_the_run_fails(turned: Corpus):
    (found,) = diagnose(trained(turned, learning_rate_factor=1000.0, clip_norm=None))
    assert (found.kind, found.title) == ("failed", "The numbers ran away")
    assert found.advice.startswith("Learning rate")


def test_a_learning_rate_far_too_low(turned: Corpus):
    found = diagnose(trained(turned, learning_rate_factor=0.002, steps=120))
    assert found[0].kind == "learning_rate_too_low"
    assert "no_better_than_guessing" in [finding.kind for finding in found]


@pytest.mark.parametrize("spoil_measurement", [False, True])
def test_targets_that_are_not_shifted(turned: Corpus, spoil_measurement: bool):
    run = trained(turned, spoil=not_shifted, spoil_measurement=spoil_measurement, steps=80, measure_every=40)
    (found,) = diagnose(run)
    assert (found.kind, found.severity) == ("sees_its_answer", "problem")
    assert "shifted right by one" in found.advice


def test_targets_that_are_not_shifted_of_few_pairs_seen_many_times(few_turned: Corpus):
    assert kinds(trained(few_turned, spoil=not_shifted, steps=80, measure_every=40)) == ["sees_its_answer"]


def test_targets_that_are_not_shifted_of_texts(two_back: Corpus):
    run = trained(two_back, spoil=not_shifted, spoil_measurement=True, steps=100, measure_every=50)
    assert kinds(run) == ["sees_its_answer"]


def test_pairs_learnt_by_heart(few_turned: Corpus):
    found = diagnose(trained(few_turned, steps=150))
    assert (found[0].kind, found[0].severity) == ("overfitting", "problem")


def test_a_training_that_ends_too_soon(turned: Corpus):
    found = diagnose(trained(turned, steps=30, measure_every=30))
    assert "undertrained" in [finding.kind for finding in found if finding.severity == "problem"]


def test_a_model_that_can_look_one_token_back_only(two_back: Corpus):
    """It attends to the token itself alone, so a table of which token follows which is the best that it can be."""
    run = trained(two_back, model={"sliding_window": 1, "positions": "none"})
    assert "looks_one_token_back" in kinds(run)


def test_texts_of_no_rule(random_letters: Corpus):
    assert "guesses_by_frequency" in kinds(trained(random_letters, steps=80, measure_every=40))


def test_targets_that_depend_on_nothing(unrelated: Corpus):
    assert "same_output" in kinds(trained(unrelated, steps=120, model={"dropout": 0.3}))
