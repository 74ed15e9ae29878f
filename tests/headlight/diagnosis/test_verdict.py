"""What a loss amounts to, beside the entropies that tables of counts reach."""

import json
import math
from dataclasses import asdict
from itertools import combinations
from typing import Any, get_args

import hypothesis.strategies as st
import pytest
from hypothesis import example, given, settings

from headlight.diagnosis import Finding, FindingKind, diagnose
from tests.headlight.diagnosis.records import STEPS, a_case, falling, kinds, logged, measured, the


def standing_at(loss: float, **changes):
    """A run that has come to stand at a held-out loss, of 4.6 for an even guess, 4.0 and 2.5 for tables of counts."""
    return a_case([*logged(falling(loss, half_life=40)), measured(STEPS, loss)], **changes)


@pytest.mark.parametrize(
    ("loss", "kind"),
    [
        (4.6, "no_better_than_guessing"),
        (4.1, "unigram_baseline"),
        (3.95, "unigram_baseline"),
        (3.8, "bigram_baseline"),
        (2.46, "bigram_baseline"),
        (1.0, "well"),
    ],
)
def test_the_level_is_named(loss: float, kind: str):
    levels = {"no_better_than_guessing", "unigram_baseline", "bigram_baseline", "well"}
    assert levels & {*kinds(standing_at(loss))} == {kind}


def test_the_numbers_are_told():
    actual = the("bigram_baseline", standing_at(3.0))
    assert actual.severity == "note"  # the best that some data allow
    assert the("unigram_baseline", standing_at(3.95)).severity == "problem"
    assert "3.00 nats at step 1,000" in actual.evidence and "4.00 nats, the bigram baseline 2.50" in actual.evidence


def test_where_a_table_of_pairs_knows_no_more_than_frequencies_there_is_no_level_between():
    assert "unigram_baseline" in kinds(standing_at(3.99, bigram_entropy=4.01))
    assert kinds(standing_at(2.0, bigram_entropy=4.01)) == ["well"]


def test_an_encoder_sees_both_neighbours_so_the_token_before_means_nothing():
    assert "bigram_baseline" not in kinds(standing_at(3.0, architecture="encoder_only"))
    assert kinds(standing_at(1.0, architecture="encoder_only")) == ["well"]


def test_without_entropies_only_an_even_guess_is_known():
    unknown = {"unigram_entropy": None, "bigram_entropy": None}
    assert "no_better_than_guessing" in kinds(standing_at(4.6, **unknown))
    assert not {"unigram_baseline", "bigram_baseline", "well"} & {*kinds(standing_at(3.0, **unknown))}


def test_a_smoothed_training_loss_is_told_without_its_smoothing():
    """At a smoothing of 0.1 among 100 tokens, nobody comes below 0.78: 1.3 is a good loss, of 0.94 nats at most."""
    run = a_case(logged(falling(1.3, half_life=40)), label_smoothing=0.1, steps=3000)
    actual = the("nothing_unusual", run)
    assert (
        "at most 0.9" in actual.evidence and "without label smoothing" in actual.evidence
    )  # (1.3 - 0.1 log 100) / 0.9


def test_what_judges_outputs_goes_before_the_loss():
    log = logged(falling(1.0, half_life=40))
    for judged, message in (
        ({"exact_match": 0.95, "accuracy": 0.99}, "95% exact match"),
        ({"coherent": 0.9}, "“coherent”"),
        ({"determined_accuracy": 0.9}, "tokens that the text determines"),
    ):
        run = a_case([*log, measured(STEPS, 1.0, **judged)])
        assert kinds(run) == ["well"]
        assert message in the("well", run).evidence
    assert "well" not in kinds(a_case([*log, measured(STEPS, 1.0, exact_match=0.3)]))


def test_a_poor_level_is_no_problem_yet_while_the_loss_falls():
    run = a_case([*logged(lambda step: 4.6 - step / 1500, until=700), measured(700, 4.1)])
    assert the("unigram_baseline", run).severity == "note"
    assert the("unigram_baseline", run).advice.startswith("Wait for all 1,000 steps")


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
