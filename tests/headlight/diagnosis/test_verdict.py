"""Whatever comes in: one to four findings in order, in plain sentences, none against another."""

import json
import math
from dataclasses import asdict
from itertools import combinations
from typing import Any, get_args

import hypothesis.strategies as st
from hypothesis import example, given, settings

from headlight.diagnosis import Finding, FindingKind, diagnose
from tests.headlight.diagnosis.records import a_case, falling, logged, measured

CONTRARY = [
    {"well", "no_better_than_guessing", "unigram_baseline", "bigram_baseline"},
    {"well", "undertrained", "plateau", "learning_rate_too_high", "learning_rate_too_low", "nothing_unusual"},
    {"well", "failed", "too_early", "target_leakage", "unknown_tokens", "constant_targets", "empty_targets"},
    {"overfitting", "undertrained", "plateau"},
    {"well", "ends_at_once", "never_ends"},
    {"well", "ignores_source"},
    {"undertrained", "ignores_source"},
]
ANY_NUMBER = st.one_of(
    st.floats(0, 12), st.floats(), st.integers(-5, 10), st.none(), st.sampled_from([1e30, 1e308, 10**400, -1.0, 0])
)
LOSS = st.one_of(st.floats(0, 12), ANY_NUMBER)
SHARE = st.one_of(st.floats(0, 1), ANY_NUMBER)
PROBES = (
    "training_loss seen_accuracy hidden_accuracy source_gain early_end cut_outputs unknown same_target empty_target"
)


def check(findings: list[Finding]) -> None:
    kinds, severities = get_args(FindingKind), ["problem", "note", "fine"]
    assert 1 <= len(findings) <= 4
    assert all(finding.kind in kinds for finding in findings)
    ranks = [severities.index(finding.severity) for finding in findings]
    assert ranks == sorted(ranks)
    reports = {finding.kind for finding in findings}
    assert len(reports) == len(findings)
    for contrary in CONTRARY:
        assert not any({*pair} <= reports for pair in combinations(contrary, 2)), reports
    assert ("well" in reports) <= (findings[0].severity != "problem")
    for finding in findings:
        json.dumps(asdict(finding), allow_nan=False)
        for sentence in (str(finding.evidence), str(finding.advice)):
            assert sentence.endswith(".") and not sentence.endswith("..")
            assert sentence[0] == sentence[0].upper()
        words = f"{finding.title} {finding.evidence} {finding.advice}".replace("-", " ").split()
        assert not {"nan", "inf", "None"} & {word.strip(".,;:()") for word in words}


@settings(max_examples=50)
@given(
    curve=st.lists(st.tuples(LOSS, ANY_NUMBER, ANY_NUMBER), max_size=30),
    measures=st.lists(st.tuples(st.integers(0, 1200), LOSS, SHARE, SHARE, SHARE), max_size=5),
    probes=st.fixed_dictionaries({}, optional={f"probe_{name}": SHARE for name in PROBES.split()}),
    changes=st.fixed_dictionaries(
        {},
        optional={
            "architecture": st.sampled_from(["encoder_decoder", "decoder_only", "encoder_only"]),
            "steps": st.integers(1, 2000),
            "warmup_steps": st.integers(1, 5000),
            "label_smoothing": st.sampled_from([0.0, 0.1, 0.9]),
            "dropout": st.sampled_from([0.0, 0.5]),
            "vocab_size": st.sampled_from([1, 2, 100]),
            "tokens_seen": st.one_of(st.none(), st.integers(0, 10**15)),
            "n_training_tokens": st.one_of(st.none(), st.integers(0, 10**9)),
            "unigram_entropy": st.one_of(st.none(), st.floats()),
            "bigram_entropy": st.one_of(st.none(), st.floats()),
        },
    ),
)
@example(curve=[(0.0, None, 0.0)], measures=[], probes={}, changes={"steps": 1, "tokens_seen": 0})
def test_whatever_comes_in(curve: list, measures: list, probes: dict[str, Any], changes: dict[str, Any]):
    log = [
        {"step": 20 * i, "loss": loss, "learning_rate": rate, "gradient_norm": norm}
        for i, (loss, rate, norm) in enumerate(curve, start=1)
    ]
    names = ("loss", "accuracy", "exact_match", "coherent")
    log += [
        {"step": step} | {f"held_out_{n}": v for n, v in zip(names, row, strict=True)} | probes
        for step, *row in measures
    ]
    check(diagnose(a_case(log, **changes)))


@settings(max_examples=50)
@given(
    to=st.floats(0, 6),
    half_life=st.floats(10, 2000),
    held_out=st.lists(st.floats(0, 8), max_size=4),
    until=st.integers(1, 1000),
    exact_match=st.floats(0, 1),
    rate=st.floats(1e-6, 1),
    epochs=st.floats(0, 50),
)
def test_whatever_the_shape_of_the_curve(to, half_life, held_out, until, exact_match, rate, epochs):
    log = logged(falling(to, half_life=half_life), until=until, rate=rate)
    log += [
        measured(max(1, until * i // len(held_out)), loss, exact_match=exact_match, accuracy=math.sqrt(exact_match))
        for i, loss in enumerate(held_out, start=1)
    ]
    check(diagnose(a_case(log, tokens_seen=round(epochs * 100_000))))
