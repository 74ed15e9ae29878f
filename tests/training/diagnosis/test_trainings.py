"""Real trainings: of the healthy ones none is accused, and in each broken one the diagnosis names what is wrong."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.training.diagnosis import small_corpora as corpora
from tests.training.diagnosis import tiny_runs as runs
from tests.training.diagnosis.tiny_runs import trained
from transformer_core.corpora.corpus import Corpus, Text
from transformer_core.training.diagnosis import Case, diagnose

pytestmark = pytest.mark.training

Run = Callable[[Path], Case]

WITHOUT_FAULT = {"well", "nothing_unusual", "undertrained", "plateau", "exposure_gap", "bigram_baseline", "too_early"}

WIDER = {"d_model": 64, "d_ff": 128}

HEALTHY: dict[str, Run] = {
    "copy, characters": lambda _: trained(corpora.letters("copy"), steps=400),
    "reverse, characters": lambda _: trained(corpora.letters("reverse"), steps=400),
    "sort, label smoothing, dropout": lambda _: trained(
        corpora.letters("sort"), steps=250, label_smoothing=0.1, model={"dropout": 0.1}
    ),
    "addition, not converged": lambda _: trained(corpora.sums(), steps=150),
    "dates, not converged": lambda _: trained(corpora.dates(), steps=120),
    "brackets": lambda _: trained(corpora.brackets(), steps=200),
    "English to French, not converged": lambda _: trained(corpora.english_french(), steps=120),
    "own lower-case pairs, words": lambda folder: trained(corpora.own_pairs(folder, "word")),
    "own pairs, BPE": lambda folder: trained(corpora.own_pairs(folder, "byte_bpe"), steps=200),
    "own pairs in capitals, words": lambda folder: trained(corpora.own_pairs(folder, "word", change=str.upper)),
    "own one-line texts, words": lambda folder: trained(corpora.own_lines(folder, "word")),
    "own one-line texts, BPE": lambda folder: trained(corpora.own_lines(folder, "byte_bpe")),
    "prose, characters": lambda folder: trained(corpora.prose(folder, "character"), steps=400, model=WIDER),
    "prose, BPE": lambda folder: trained(corpora.prose(folder, "byte_bpe"), steps=120),
    "stories, BPE": lambda _: trained(corpora.tales(), steps=120),
    "induction, not converged": lambda _: trained(corpora.repeated_words(), steps=120),
    "masked encoder, own lines": lambda folder: trained(corpora.own_lines(folder, "word"), architecture="encoder_only"),
    "masked encoder, BPE prose": lambda folder: trained(
        corpora.prose(folder, "byte_bpe"), architecture="encoder_only", steps=120
    ),
    "tiny corpus of pairs": lambda _: trained(corpora.letters("copy", 160, alphabet="abcd"), steps=200),
    "tiny corpus of texts": lambda folder: trained(corpora.prose(folder, "character", n=12), steps=60),
    "texts, letters two back": lambda _: trained(corpora.two_back(), steps=200),
    "nine of ten targets alike": lambda _: trained(
        corpora.with_targets(corpora.letters("copy"), lambda rng, pair: "x" if pair.source[0] == "a" else "y")
    ),
    "some targets empty": lambda _: trained(
        corpora.with_targets(corpora.letters("copy"), lambda rng, pair: "" if pair.source[0] in "abcd" else "x")
    ),
    "a text that repeats itself": lambda folder: trained(
        corpora.own_file(
            folder / "song.txt", ["la la la la la la hey la la la ho ho"] * 400, tokens="word", division="stream"
        )
    ),
    "while it goes on": lambda _: until(60, trained(corpora.letters("reverse"), steps=100)),
}

BROKEN: dict[str, tuple[Run, str]] = {
    "exploded": (
        lambda _: trained(corpora.letters("copy"), learning_rate_factor=1000.0, clip_norm=None),
        "failed",
    ),
    "learning rate 40 times too high, pairs": (
        lambda _: trained(corpora.letters("reverse"), learning_rate_factor=12.0, steps=100),
        "learning_rate_too_high",
    ),
    "learning rate 20 times too high, prose": (
        lambda folder: trained(corpora.prose(folder, "character"), learning_rate_factor=6.0, steps=100),
        "learning_rate_too_high",
    ),
    "learning rate 150 times too low": (
        lambda _: trained(corpora.letters("reverse"), learning_rate_factor=0.002, steps=100),
        "learning_rate_too_low",
    ),
    "warm-up longer than the training": (
        lambda _: trained(corpora.letters("copy"), warmup_steps=4000, steps=60),
        "learning_rate_too_low",
    ),
    "targets not shifted, pairs": (
        lambda _: trained(corpora.letters("reverse"), spoil=runs.not_shifted, steps=100),
        "target_leakage",
    ),
    "targets not shifted, own pairs": (
        lambda folder: trained(corpora.own_pairs(folder, "word"), spoil=runs.not_shifted, steps=100),
        "target_leakage",
    ),
    "targets not shifted, prose": (
        lambda folder: trained(corpora.prose(folder, "character"), spoil=runs.not_shifted, steps=100),
        "target_leakage",
    ),
    "no causal mask, pairs": (
        lambda _: trained(corpora.letters("reverse"), sees_the_future=True, steps=250),
        "target_leakage",
    ),
    "no causal mask, texts": (
        lambda folder: trained(corpora.own_lines(folder, "word"), sees_the_future=True, steps=300),
        "target_leakage",
    ),
    "masked encoder that is given its answers": (
        lambda folder: trained(
            corpora.prose(folder, "byte_bpe"), architecture="encoder_only", spoil=runs.not_masked, steps=150
        ),
        "target_leakage",
    ),
    "embeddings zero and frozen": (
        lambda _: trained(corpora.letters("copy"), prepare=runs.without_embeddings, steps=80),
        "no_better_than_guessing",
    ),
    "weights frozen, texts": (
        lambda folder: trained(corpora.own_lines(folder, "word"), prepare=runs.frozen, steps=80),
        "no_better_than_guessing",
    ),
    "empty targets": (
        lambda _: trained(corpora.with_targets(corpora.letters("copy"), lambda rng, pair: ""), steps=50),
        "empty_targets",
    ),
    "constant targets": (
        lambda _: trained(corpora.with_targets(corpora.letters("copy"), lambda rng, pair: "abc"), steps=50),
        "constant_targets",
    ),
    "one word again and again": (
        lambda folder: trained(
            corpora.own_file(folder / "word.txt", ["word"] * 2000, tokens="word", division="stream"), steps=50
        ),
        "constant_targets",
    ),
    "targets of other sources": (
        lambda _: trained(
            corpora.with_targets(corpora.letters("reverse"), lambda rng, pair: corpora.unruly(rng, 3)), steps=120
        ),
        "ignores_source",
    ),
    "source never given": (
        lambda _: trained(corpora.letters("reverse"), spoil=runs.without_source, steps=250),
        "ignores_source",
    ),
    "forty pairs by heart": (
        lambda _: trained(corpora.letters("reverse", 104), steps=200),
        "overfitting",
    ),
    "a few lines by heart": (
        lambda folder: trained(corpora.prose(folder, "character", n=8), steps=400, model=WIDER),
        "overfitting",
    ),
    "training targets of another task": (
        lambda _: trained(
            corpora.with_targets(corpora.letters("copy", 300), lambda rng, pair: pair.source[::-1], held_out=False)
        ),
        "overfitting",
    ),
    "all words unknown, pairs": (
        lambda folder: trained(replace(corpora.own_pairs(folder, "word"), vocab_size=6), steps=50),
        "unknown_tokens",
    ),
    "all words unknown, texts": (
        lambda folder: trained(replace(corpora.own_lines(folder, "word"), vocab_size=6), steps=50),
        "unknown_tokens",
    ),
    "too few steps": (
        lambda _: trained(corpora.letters("reverse"), steps=15),
        "undertrained",
    ),
    "words in random order": (
        lambda _: trained(corpora.random_letters(), steps=80),
        "unigram_baseline",
    ),
    "a model that sees one token": (
        lambda _: trained(corpora.two_back(), model={"sliding_window": 1, "positions": "none"}, steps=120),
        "bigram_baseline",
    ),
    "<eos> never learnt": (
        lambda _: trained(corpora.letters("reverse"), spoil=runs.without_end, steps=120),
        "never_ends",
    ),
    "most training targets empty": (
        lambda _: trained(
            corpora.with_targets(
                corpora.letters("reverse"),
                lambda rng, pair: "" if rng.random() < 0.8 else pair.target,
                held_out=False,
            ),
            steps=100,
        ),
        "ends_at_once",
    ),
    "training texts cut": (
        lambda folder: trained(cut_in_training(corpora.own_lines(folder, "word")), steps=100),
        "ends_at_once",
    ),
}


def until(step: int, case: Case) -> Case:
    """The same run, as it stood after a step."""
    return replace(case, metrics=[line for line in case.metrics if line["step"] <= step])


def cut_in_training(corpus: Corpus) -> Corpus:
    """Of nine in ten texts that are trained on, the first three words."""
    texts = (" ".join(item.text.split()[: 3 if i % 10 else None]) for i, item in enumerate(corpus.train))
    return replace(corpus, train=tuple(map(Text, texts)), held_out=tuple(corpus.held_out[:]), known_fingerprint="")


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_training_is_not_accused(name: str, tmp_path: Path):
    found = diagnose(HEALTHY[name](tmp_path))
    assert {finding.kind for finding in found} <= WITHOUT_FAULT, found
    assert "problem" not in [finding.severity for finding in found], found


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_training_is_found(name: str, tmp_path: Path):
    run, kind = BROKEN[name]
    found = diagnose(run(tmp_path))
    assert kind in [finding.kind for finding in found], found
