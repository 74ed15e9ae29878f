"""Recorded trainings: what each run logged, and what the diagnosis should find in it.

`python -m tests.headlight.diagnosis.recordings` trains them all again and writes `recorded/`. Each file holds the facts
of the case in its first line, and the lines of metrics.jsonl after it.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from headlight.diagnosis import Case
from tests.headlight.diagnosis import small_corpora as corpora
from tests.headlight.diagnosis import tiny_runs as runs
from tests.headlight.diagnosis.tiny_runs import trained
from transformer_core.errors import Message

FOLDER = Path(__file__).parent / "recorded"

Run = Callable[[Path], Case]

HEALTHY: dict[str, Run] = {
    "reverse": lambda _: trained(corpora.letters("reverse"), steps=300),
    "sort-smoothed-dropout": lambda _: trained(
        corpora.letters("sort"), steps=250, label_smoothing=0.1, model={"dropout": 0.1}
    ),
    "prose-not-converged": lambda folder: trained(corpora.prose(folder, "byte_bpe"), steps=120),
    "masked-encoder": lambda folder: trained(corpora.own_lines(folder), architecture="encoder_only"),
}
BROKEN: dict[str, tuple[Run, str]] = {
    "exploded": (lambda _: trained(corpora.letters("copy"), learning_rate_factor=1000.0, clip_norm=None), "failed"),
    "rate-too-high": (
        lambda folder: trained(corpora.prose(folder, "character"), learning_rate_factor=6.0, steps=100),
        "learning_rate_too_high",
    ),
    "rate-too-low": (
        lambda _: trained(corpora.letters("reverse"), learning_rate_factor=0.002, steps=100),
        "learning_rate_too_low",
    ),
    "not-shifted": (
        lambda _: trained(corpora.letters("reverse"), spoil=runs.not_shifted, steps=100),
        "target_leakage",
    ),
    "not-masked": (
        lambda folder: trained(
            corpora.prose(folder, "byte_bpe"), architecture="encoder_only", spoil=runs.not_masked, steps=150
        ),
        "target_leakage",
    ),
    "frozen": (
        lambda folder: trained(corpora.own_lines(folder), prepare=runs.frozen, steps=80),
        "no_better_than_guessing",
    ),
    "empty-targets": (
        lambda _: trained(corpora.with_targets(corpora.letters("copy"), ""), steps=50),
        "empty_targets",
    ),
    "constant-targets": (
        lambda _: trained(corpora.with_targets(corpora.letters("copy"), "abc"), steps=50),
        "constant_targets",
    ),
    "source-never-given": (
        lambda _: trained(corpora.letters("reverse"), spoil=runs.without_source, steps=250),
        "ignores_source",
    ),
    "forty-pairs": (lambda _: trained(corpora.letters("reverse", 104), steps=200), "overfitting"),
    "unknown-words": (
        lambda folder: trained(replace(corpora.own_lines(folder), vocab_size=6), steps=50),
        "unknown_tokens",
    ),
    "too-few-steps": (lambda _: trained(corpora.letters("reverse"), steps=15), "undertrained"),
    "random-order": (lambda _: trained(corpora.random_letters(), steps=80), "unigram_baseline"),
    "sees-one-token": (
        lambda _: trained(corpora.two_back(), model={"sliding_window": 1, "positions": "none"}, steps=120),
        "bigram_baseline",
    ),
    "no-end": (lambda _: trained(corpora.letters("reverse"), spoil=runs.without_end, steps=120), "never_ends"),
    "texts-cut": (
        lambda folder: trained(corpora.cut_in_training(corpora.own_lines(folder)), steps=100),
        "ends_at_once",
    ),
}
RUNS: dict[str, Run] = HEALTHY | {name: run for name, (run, _) in BROKEN.items()}


def record(name: str, case: Case) -> None:
    """Write a case to its file."""
    facts = {field.name: getattr(case, field.name) for field in fields(case) if field.name != "metrics"}
    lines = [facts | {"failure": case.failure.as_json()}, *case.metrics]
    (FOLDER / f"{name}.jsonl").write_text("".join(json.dumps(_rounded(line)) + "\n" for line in lines))


def recorded(name: str) -> Case:
    """Read a case from its file."""
    facts, *metrics = map(json.loads, (FOLDER / f"{name}.jsonl").read_text().splitlines())
    return Case(**facts | {"metrics": metrics, "failure": Message.from_json(facts["failure"])})


def _rounded(line: Mapping[str, Any]) -> dict[str, Any]:
    return {name: float(f"{value:.5g}") if isinstance(value, float) else value for name, value in line.items()}


if __name__ == "__main__":
    for name, run in RUNS.items():
        with TemporaryDirectory() as folder:
            record(name, run(Path(folder)))
